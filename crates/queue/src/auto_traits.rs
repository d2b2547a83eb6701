//! What must not compile: a handle that goes to another thread with items that may not, or an owner that is shared.
//!
//! Only examples, run as tests of the documentation. Each one that fails stands beside one that differs from it in
//! a word and compiles, so that it fails for the reason it is meant to.

/// A worker is sent, not shared.
///
/// ```
/// fn is_send<Q: Send>() {}
/// is_send::<brigade_queue::lifo::Worker<u32>>();
/// is_send::<brigade_queue::fifo::Worker<u32>>();
/// let worker = brigade_queue::lifo::Worker::new(4);
/// std::thread::spawn(move || worker.push(1)).join().unwrap().unwrap();
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
/// An injector is.
/// ```
/// let injector = brigade_queue::Injector::new();
/// std::thread::scope(|scope| scope.spawn(|| injector.push(1)).join().unwrap()).unwrap();
/// ```
struct SharedOwner;

/// A ring has one owner; there are as many thieves as are wanted.
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
/// A drain would yield everything twice.
/// ```compile_fail,E0277
/// fn is_clone<Q: Clone>() {}
/// is_clone::<brigade_queue::fifo::Drain<'static, u32>>();
/// ```
struct SecondOwner;

/// A worker stays where its items have to stay.
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

/// A stealer stays where the items have to stay.
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

/// Whoever shares a stealer takes items.
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

/// A drain stays where its items have to stay.
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

/// Nor is it shared.
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

/// An injector stays where its items have to stay.
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

/// Whoever shares an injector takes items.
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

/// What is left stays where it has to stay.
///
/// ```
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<IntoIter<fifo::Worker<std::sync::Arc<()>>>>();
/// holds::<IntoIter<lifo::Worker<std::sync::Arc<()>>>>();
/// holds::<IntoIter<Injector<std::sync::Arc<()>>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<IntoIter<fifo::Worker<std::rc::Rc<()>>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<IntoIter<lifo::Worker<std::rc::Rc<()>>>>();
/// ```
/// ```compile_fail,E0277
/// use brigade_queue::*;
/// fn holds<Q: Send>() {}
/// holds::<IntoIter<Injector<std::rc::Rc<()>>>>();
/// ```
struct RestOfThreadBound;

/// Items that may be sent but not shared may be in every queue: each has one owner at a time.
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

/// Each consumer has a cursor of its own.
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
