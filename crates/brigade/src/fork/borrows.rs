//! Code that must not compile: borrows that end too soon, and captures that are not `Send`.
//!
//! Only examples, run as documentation tests. The first example compiles; each failing example differs from a part
//! of it in one point.

/// A job borrows values that outlive the scope.
///
/// ```
/// use std::{cell::Cell, sync::Arc};
/// let (text, count) = (String::from("lives"), Arc::new(1));
/// let mut numbers = [1, 2];
/// brigade::scope(|s| {
///     s.execute(|| drop(text.len()));
///     s.execute(|| drop(count.clone()));
///     s.submit(|| text.len()).join()
/// })?;
/// let (one, other) = numbers.split_at_mut(1);
/// brigade::join(|| one[0] = 3, || other[0] = 4);
/// brigade::in_place_scope(|s| s.execute(|| drop(text.len())));
/// brigade::in_place_scope(|s| _ = s.spawn(async { count.clone(); }));
/// brigade::default_pool().install(|| drop(count.clone()))?;
/// brigade::default_pool().install(|| brigade::join(|| drop(count.clone()), || text.len()))?;
/// let sum = std::sync::atomic::AtomicUsize::new(0);
/// let add = |number| sum.fetch_add(number, std::sync::atomic::Ordering::Relaxed);
/// brigade::par_for(0..2, 1, |number| _ = add(number));
/// brigade::par_for(&[1], 1, |number| _ = add(*number));
/// brigade::par_chunks_mut(&mut numbers, 1, |_, _| _ = add(1));
/// brigade::par_chunks(&numbers, 1, |_, _| _ = add(1));
/// brigade::map_reduce(0..2, 1, |number| add(number), |a, b| a + b);
/// brigade::scope(|s| s.execute(|| numbers[0] = 5));
/// assert_eq!(brigade::submit(move || text.len()).join()?, 5);
/// # Ok::<(), std::io::Error>(())
/// ```
/// Not a variable of the scope's body.
/// ```compile_fail,E0373
/// brigade::scope(|s| {
///     let text = String::from("dies");
///     s.execute(|| drop(text.len()));
/// });
/// ```
/// ```compile_fail,E0597
/// brigade::scope(|s| {
///     let text = String::from("dies");
///     let text = &text;
///     s.spawn(async move { text.len() });
/// });
/// ```
/// ```compile_fail,E0373
/// brigade::scope(|s| {
///     let text = String::from("dies");
///     s.submit(|| text.len());
/// });
/// ```
/// ```compile_fail,E0373
/// brigade::scope(|s| {
///     let text = String::from("dies");
///     s.execute_with(|_| drop(text.len()));
/// });
/// ```
/// Two jobs of a scope may run at once.
/// ```compile_fail,E0499
/// let mut numbers = [1, 2];
/// brigade::scope(|s| {
///     s.execute(|| numbers[0] = 3);
///     s.execute(|| numbers[1] = 4);
/// });
/// ```
/// Neither the scope nor a handle leaves it.
/// ```compile_fail,E0521
/// let mut kept = None;
/// brigade::in_place_scope(|s| kept = Some(s));
/// ```
/// ```compile_fail,E0521
/// let mut kept = None;
/// brigade::in_place_scope(|s| kept = Some(s.submit(|| 1)));
/// ```
/// ```compile_fail
/// let handle = brigade::in_place_scope(|s| s.submit(|| 1));
/// ```
/// A job can't hold a scope that ends before its own.
/// ```compile_fail,E0521
/// brigade::scope(|outer| brigade::scope(|inner| outer.execute(|| inner.execute(|| ()))));
/// ```
/// Values that are not `Send` stay.
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::in_place_scope(|s| s.execute(|| drop(count.clone())));
/// ```
/// ```compile_fail,E0277
/// let cell = std::cell::Cell::new(1);
/// brigade::in_place_scope(|s| _ = s.submit(|| cell.get()));
/// ```
/// ```compile_fail,E0277
/// brigade::in_place_scope(|s| _ = s.submit(|| std::rc::Rc::new(1)));
/// ```
/// ```compile_fail,E0277
/// brigade::join(|| 1, || std::rc::Rc::new(1));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::join(|| 1, || drop(count.clone()));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::join(|| drop(count.clone()), || 1);
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::default_pool().install(|| brigade::join(|| 1, || drop(count.clone())));
/// ```
/// ```compile_fail,E0277
/// brigade::default_pool().install(|| std::rc::Rc::new(1));
/// ```
/// ```compile_fail,E0277
/// brigade::scope(|_| std::rc::Rc::new(1));
/// ```
/// ```compile_fail,E0277
/// brigade::map_reduce(0..2, 1, |number| std::rc::Rc::new(number), |one, _| one);
/// ```
/// ```compile_fail,E0277
/// let sum = std::cell::Cell::new(0);
/// brigade::map_reduce(0..2, 1, |number| sum.replace(number), |one, other| one + other);
/// ```
/// ```compile_fail,E0277
/// let sum = std::cell::Cell::new(0);
/// brigade::map_reduce(0..2, 1, |number| number, |one, other| sum.replace(one + other));
/// ```
/// ```compile_fail,E0277
/// let sum = std::cell::Cell::new(0);
/// brigade::par_chunks(&[1, 2], 1, |_, chunk| sum.set(sum.get() + chunk[0]));
/// ```
/// ```compile_fail,E0277
/// let sum = std::cell::Cell::new(0);
/// brigade::par_chunks_mut(&mut [1, 2], 1, |_, chunk| sum.set(sum.get() + chunk[0]));
/// ```
/// ```compile_fail,E0277
/// let slice = [std::cell::Cell::new(1)];
/// brigade::par_chunks(&slice, 1, |_, _| ());
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::in_place_scope(|s| _ = s.spawn(async { count.clone(); }));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::scope(|_| drop(count.clone()));
/// ```
/// ```compile_fail,E0277
/// let count = std::rc::Rc::new(1);
/// brigade::default_pool().install(|| drop(count.clone()));
/// ```
/// ```compile_fail,E0277
/// let sum = std::cell::Cell::new(0);
/// brigade::par_for(0..2, 1, |number| sum.set(sum.get() + number));
/// ```
/// ```compile_fail,E0277
/// brigade::par_for(&[std::cell::Cell::new(1)], 1, |_| ());
/// ```
/// ```compile_fail,E0277
/// let mut slice = [std::rc::Rc::new(1)];
/// brigade::par_chunks_mut(&mut slice, 1, |_, _| ());
/// ```
/// A job outside a scope borrows nothing.
/// ```compile_fail,E0373
/// let handle = {
///     let text = String::from("dies");
///     brigade::submit(|| text.len())
/// };
/// ```
/// Both closures of a join are called at once.
/// ```compile_fail,E0499
/// let mut numbers = [1, 2];
/// brigade::join(|| numbers[0] = 3, || numbers[1] = 4);
/// ```
struct Borrows;
