//! Code that must not compile: sending a handle of items that are not `Send`, or sharing an owner.
//!
//! Only examples, run as documentation tests. Each failing example stands next to a compiling example that differs from it
//! in a name, so it fails for the intended reason.

/// A worker is `Send` but not `Sync`.
///
/// ```
/// fn is_send<Q: Send>() {}
/// is_send::<brigade_queue::lifo::Worker<u32>>();
/// is_send::<brigade_queue::fifo::Worker<u32>>();
/// let worker = brigade_queue::lifo::Worker::new(4);
/// assert_eq!(std::thread::spawn(move || worker.push(1)).join().unwrap(), Ok(()));
/// ```
/// ```compile_fail,E0277
/// fn is_sync<Q: Sync>() {}
/// is_sync::<brigade_queue::lifo::Worker<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_sync<Q: Sync>() {}
/// is_sync::<brigade_queue::fifo::Worker<u32>>();
/// ```
/// ```compile_fail,E0277
/// let worker = brigade_queue::lifo::Worker::new(4);
/// std::thread::scope(|scope| scope.spawn(|| worker.push(1)).join().unwrap()).unwrap();
/// ```
/// ```compile_fail,E0277
/// let worker = brigade_queue::fifo::Worker::new(4);
/// std::thread::scope(|scope| scope.spawn(|| worker.push(1)).join().unwrap()).unwrap();
/// ```
/// An injector is `Sync`.
/// ```
/// let injector = brigade_queue::Injector::new();
/// assert_eq!(std::thread::scope(|scope| scope.spawn(|| injector.push(1)).join().unwrap()), Ok(()));
/// ```
struct SharedOwner;

/// A ring has a single owner and any number of thieves.
///
/// ```
/// fn is_clone<Q: Clone>() {}
/// is_clone::<brigade_queue::lifo::Stealer<u32>>();
/// is_clone::<brigade_queue::fifo::Stealer<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_clone<Q: Clone>() {}
/// is_clone::<brigade_queue::lifo::Worker<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_clone<Q: Clone>() {}
/// is_clone::<brigade_queue::fifo::Worker<u32>>();
/// ```
/// A cloned drain would yield every item twice.
/// ```compile_fail,E0277
/// fn is_clone<Q: Clone>() {}
/// is_clone::<brigade_queue::fifo::Drain<'static, u32>>();
/// ```
struct SecondOwner;

/// A worker is not `Send` if its items are not.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Worker<std::sync::Arc<()>>>();
/// holds::<fifo::Worker<std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Worker<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<fifo::Worker<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Worker<std::sync::MutexGuard<'static, ()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<fifo::Worker<std::sync::MutexGuard<'static, ()>>>();
/// ```
struct WorkerOfThreadBound;

/// A stealer is not `Send` if the items are not.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Stealer<std::sync::Arc<()>>>();
/// holds::<fifo::Stealer<std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Stealer<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<fifo::Stealer<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Stealer<std::sync::MutexGuard<'static, ()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<fifo::Stealer<std::sync::MutexGuard<'static, ()>>>();
/// ```
struct StealerOfThreadBound;

/// A shared stealer takes items, so it is not `Sync` if the items are not `Send`.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<lifo::Stealer<std::sync::Arc<()>>>();
/// holds::<fifo::Stealer<std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<lifo::Stealer<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<fifo::Stealer<std::rc::Rc<()>>>();
/// ```
struct SharedStealerOfThreadBound;

/// A drain is not `Send` if its items are not.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Drain<'static, std::sync::Arc<()>>>();
/// holds::<fifo::Drain<'static, std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Drain<'static, std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<fifo::Drain<'static, std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<lifo::Drain<'static, std::sync::MutexGuard<'static, ()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<fifo::Drain<'static, std::sync::MutexGuard<'static, ()>>>();
/// ```
struct DrainOfThreadBound;

/// A drain is not `Sync` either if its items are not `Send`.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<lifo::Drain<'static, std::sync::Arc<()>>>();
/// holds::<fifo::Drain<'static, std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<lifo::Drain<'static, std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<fifo::Drain<'static, std::rc::Rc<()>>>();
/// ```
struct SharedDrainOfThreadBound;

/// An injector is not `Send` if its items are not.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<Injector<std::sync::Arc<()>>>();
/// holds::<ShardedInjector<std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<Injector<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<ShardedInjector<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<Injector<std::sync::MutexGuard<'static, ()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<ShardedInjector<std::sync::MutexGuard<'static, ()>>>();
/// ```
struct InjectorOfThreadBound;

/// A shared injector takes items, so it is not `Sync` if the items are not `Send`.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<Injector<std::sync::Arc<()>>>();
/// holds::<ShardedInjector<std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<Injector<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<ShardedInjector<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<Injector<std::sync::MutexGuard<'static, ()>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Sync>() {}
/// holds::<ShardedInjector<std::sync::MutexGuard<'static, ()>>>();
/// ```
struct SharedInjectorOfThreadBound;

/// Items need only be `Send`: each has a single owner at a time.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Send + Sync>() {}
/// type Item = std::cell::Cell<u32>;
/// holds::<lifo::Stealer<Item>>();
/// holds::<fifo::Stealer<Item>>();
/// holds::<Injector<Item>>();
/// holds::<ShardedInjector<Item>>();
/// ```
struct Unshared;

/// A cursor is not `Sync`: each consumer has a separate cursor.
///
/// ```
/// fn holds<Q: Send>() {}
/// holds::<brigade_queue::Cursor>();
/// ```
/// ```compile_fail,E0277
/// fn holds<Q: Sync>() {}
/// holds::<brigade_queue::Cursor>();
/// ```
struct SharedCursor;
