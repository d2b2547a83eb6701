//! Code that must not compile: sending values that are not `Send`, a second sender, a receiver used by two threads.
//!
//! Only examples, run as documentation tests. Each failing example stands next to a compiling example that differs from it
//! in a name, so it fails for the intended reason.

/// Sender and receiver are `Send` if the values are, and so is the sender `Sync`.
///
/// ```
/// use brigade_burst::*;
/// fn goes<E: Send>() {}
/// fn is_shared<E: Sync>() {}
/// goes::<Sender<std::cell::Cell<u32>>>();
/// goes::<Receiver<std::cell::Cell<u32>>>();
/// is_shared::<Sender<std::cell::Cell<u32>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_burst::*;
/// fn goes<E: Send>() {}
/// goes::<Sender<std::rc::Rc<u32>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_burst::*;
/// fn goes<E: Send>() {}
/// goes::<Receiver<std::rc::Rc<u32>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_burst::*;
/// fn is_shared<E: Sync>() {}
/// is_shared::<Sender<std::rc::Rc<u32>>>();
/// ```
struct ThreadBound;

/// Neither the sender nor a receiver is `Clone`.
///
/// ```
/// fn is_clone<E: Clone>() {}
/// is_clone::<brigade_burst::Busy<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_clone<E: Clone>() {}
/// is_clone::<brigade_burst::Sender<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_clone<E: Clone>() {}
/// is_clone::<brigade_burst::Receiver<u32>>();
/// ```
struct SecondEnd;

/// A receiver is used by one thread at a time.
///
/// ```
/// let (sender, mut receiver) = brigade_burst::channel::<u32>();
/// std::thread::scope(|scope| scope.spawn(|| receiver.try_recv()).join().unwrap()).unwrap_err();
/// ```
/// ```compile_fail,E0499
/// let (sender, mut receiver) = brigade_burst::channel::<u32>();
/// std::thread::scope(|scope| {
///     scope.spawn(|| receiver.try_recv());
///     scope.spawn(|| receiver.try_recv());
/// });
/// ```
struct ReceiverOfTwo;

/// All types are unwind safe.
///
/// ```
/// use std::panic::{RefUnwindSafe, UnwindSafe};
/// fn survives<E: UnwindSafe + RefUnwindSafe + Unpin>() {}
/// survives::<brigade_burst::Sender<u32>>();
/// survives::<brigade_burst::Receiver<u32>>();
/// ```
struct Unwinding;
