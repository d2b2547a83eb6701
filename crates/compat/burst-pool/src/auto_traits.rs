//! Code that must not compile: sending values that are not `Send`.
//!
//! Only examples, run as documentation tests. Each failing example stands next to a compiling example that differs from it
//! in a name, so it fails for the intended reason.

/// Both ends are `Send` if the values are.
///
/// ```
/// use burst_pool::*;
/// fn goes<E: Send>() {}
/// goes::<Sender<std::cell::Cell<u32>>>();
/// goes::<Receiver<std::cell::Cell<u32>>>();
/// ```
/// ```compile_fail,E0277
/// use burst_pool::*;
/// fn goes<E: Send>() {}
/// goes::<Sender<std::rc::Rc<u32>>>();
/// ```
/// ```compile_fail,E0277
/// use burst_pool::*;
/// fn goes<E: Send>() {}
/// goes::<Receiver<std::rc::Rc<u32>>>();
/// ```
struct ThreadBound;

/// Only values that are `Send` are handed over.
///
/// ```
/// let back = burst_pool::Sender::new().enqueue(Box::new(std::sync::Arc::new(7)));
/// assert!(back.is_some());
/// ```
/// ```compile_fail,E0277
/// let back = burst_pool::Sender::new().enqueue(Box::new(std::rc::Rc::new(7)));
/// assert!(back.is_some());
/// ```
struct SentValue;
