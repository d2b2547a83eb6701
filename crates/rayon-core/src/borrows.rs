//! Code that must not compile, as with rayon's own core.
//!
//! Only examples, run as documentation tests. The first compiles; each failing example differs from a part of it in a single point.

/// Data that two closures, or the jobs of a scope, may share.
///
/// ```
/// use std::sync::Arc;
/// let (mut numbers, text, count) = ([3, 1, 2, 0], String::from("lives"), Arc::new(1));
/// let (left, right) = numbers.split_at_mut(2);
/// rayon_core::join(|| left.sort(), || right.sort());
/// rayon_core::join(|| drop(count.clone()), || drop(text.len()));
/// let (one, other) = rayon_core::join(|| Arc::new(1), || Arc::new(2));
/// rayon_core::scope(|s| {
///     s.spawn(|_| numbers.sort());
///     s.spawn(|s| s.spawn(|_| drop(text.len() + *one + *other)));
///     s.spawn_broadcast(|_, _| drop(text.len()));
/// });
/// rayon_core::scope_fifo(|s| s.spawn_fifo(|_| drop(text.len())));
/// rayon_core::in_place_scope(|s| s.spawn(|_| drop(text.len())));
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// pool.install(|| drop(count.clone()));
/// rayon_core::spawn(move || drop(text));
/// ```
/// Not the same half of a slice to both.
/// ```compile_fail,E0499
/// let mut numbers = [3, 1, 2, 0];
/// let (left, _) = numbers.split_at_mut(2);
/// rayon_core::join(|| left.sort(), || left.sort());
/// ```
/// ```compile_fail,E0499
/// let mut numbers = [3, 1, 2, 0];
/// rayon_core::join(|| numbers[..2].sort(), || numbers[2..].sort());
/// ```
/// ```compile_fail,E0502
/// let mut numbers = [3, 1, 2, 0];
/// rayon_core::join(|| numbers.sort(), || numbers.len());
/// ```
/// ```compile_fail,E0499
/// let mut numbers = [3, 1];
/// rayon_core::scope(|s| {
///     s.spawn(|_| numbers[0] = 0);
///     s.spawn(|_| numbers[1] = 0);
/// });
/// ```
/// Results and captures are sent.
/// ```compile_fail,E0277
/// rayon_core::join(|| std::rc::Rc::new(1), || 2);
/// ```
/// ```compile_fail,E0277
/// rayon_core::join(|| 1, || std::rc::Rc::new(2));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// rayon_core::join(|| drop(count.clone()), || ());
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// rayon_core::in_place_scope(|s| s.spawn(|_| drop(count.clone())));
/// ```
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(1);
/// rayon_core::in_place_scope(|s| s.spawn_broadcast(|_, _| count.set(2)));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// pool.install(|| drop(count.clone()));
/// ```
/// A job of a scope borrows nothing that ends before the scope.
/// ```compile_fail,E0373
/// rayon_core::scope(|s| {
///     let text = String::from("dies");
///     s.spawn(|_| drop(text.len()));
/// });
/// ```
/// ```compile_fail,E0373
/// rayon_core::scope(|s| {
///     s.spawn(|s| {
///         let text = String::from("dies");
///         s.spawn(|_| drop(text.len()));
///     });
/// });
/// ```
/// ```compile_fail
/// let mut kept = None;
/// rayon_core::in_place_scope(|s| kept = Some(s));
/// ```
/// An unawaited job borrows nothing.
/// ```compile_fail,E0373
/// let text = String::from("dies");
/// rayon_core::spawn(|| drop(text.len()));
/// ```
struct Borrows;
