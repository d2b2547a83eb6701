//! Code that must not compile, as with rayon's own core.
//!
//! Only examples, run as documentation tests. The first compiles; each failing example differs from a part of it in a single point.

/// Data that two closures, or the jobs of a scope, may share.
///
/// ```
/// use std::sync::Arc;
/// let (mut numbers, text, count) = ([3, 1, 2, 0], String::from("lives"), Arc::new(1));
/// let (left, right) = numbers.split_at_mut(2);
/// brigade_rayon_core::join(|| left.sort(), || right.sort());
/// brigade_rayon_core::join(|| drop(count.clone()), || drop(text.len()));
/// let (one, other) = brigade_rayon_core::join(|| Arc::new(1), || Arc::new(2));
/// brigade_rayon_core::scope(|s| {
///     s.spawn(|_| numbers.sort());
///     s.spawn(|s| s.spawn(|_| drop(text.len() + *one + *other)));
///     s.spawn_broadcast(|_, _| drop(text.len()));
/// });
/// brigade_rayon_core::scope_fifo(|s| s.spawn_fifo(|_| drop(text.len())));
/// brigade_rayon_core::in_place_scope(|s| s.spawn(|_| drop(text.len())));
/// let pool = brigade_rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| drop(count.clone()));
/// brigade_rayon_core::spawn(move || drop(text));
/// # Ok::<(), brigade_rayon_core::ThreadPoolBuildError>(())
/// ```
/// Not the same half of a slice to both.
/// ```compile_fail,E0499
/// let mut numbers = [3, 1, 2, 0];
/// let (left, _) = numbers.split_at_mut(2);
/// brigade_rayon_core::join(|| left.sort(), || left.sort());
/// ```
/// ```compile_fail,E0499
/// let mut numbers = [3, 1, 2, 0];
/// brigade_rayon_core::join(|| numbers[..2].sort(), || numbers[2..].sort());
/// ```
/// ```compile_fail,E0502
/// let mut numbers = [3, 1, 2, 0];
/// brigade_rayon_core::join(|| numbers.sort(), || numbers.len());
/// ```
/// ```compile_fail,E0499
/// let mut numbers = [3, 1];
/// brigade_rayon_core::scope(|s| {
///     s.spawn(|_| numbers[0] = 0);
///     s.spawn(|_| numbers[1] = 0);
/// });
/// ```
/// Results and captures are sent.
/// ```compile_fail,E0277
/// brigade_rayon_core::join(|| std::rc::Rc::new(1), || 2);
/// ```
/// ```compile_fail,E0277
/// brigade_rayon_core::join(|| 1, || std::rc::Rc::new(2));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade_rayon_core::join(|| drop(count.clone()), || ());
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade_rayon_core::in_place_scope(|s| s.spawn(|_| drop(count.clone())));
/// ```
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(1);
/// brigade_rayon_core::in_place_scope(|s| s.spawn_broadcast(|_, _| count.set(2)));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// let pool = brigade_rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| drop(count.clone()));
/// # Ok::<(), brigade_rayon_core::ThreadPoolBuildError>(())
/// ```
/// A job of a scope borrows nothing that ends before the scope.
/// ```compile_fail,E0373
/// brigade_rayon_core::scope(|s| {
///     let text = String::from("dies");
///     s.spawn(|_| drop(text.len()));
/// });
/// ```
/// ```compile_fail,E0373
/// brigade_rayon_core::scope(|s| {
///     s.spawn(|s| {
///         let text = String::from("dies");
///         s.spawn(|_| drop(text.len()));
///     });
/// });
/// ```
/// ```compile_fail
/// let mut kept = None;
/// brigade_rayon_core::in_place_scope(|s| kept = Some(s));
/// ```
/// An unawaited job borrows nothing.
/// ```compile_fail,E0373
/// let text = String::from("dies");
/// brigade_rayon_core::spawn(|| drop(text.len()));
/// ```
struct Borrows;
