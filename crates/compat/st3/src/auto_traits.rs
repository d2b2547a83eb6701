//! Code that must not compile: sharing an owner, or a second owner.
//!
//! Each failing example stands next to a compiling example that differs from it in a name.

/// ```
/// fn is_send<Q: Send>() {}
/// is_send::<st3::lifo::Worker<u32>>();
/// is_send::<st3::fifo::Worker<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_sync<Q: Sync>() {}
/// is_sync::<st3::lifo::Worker<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_sync<Q: Sync>() {}
/// is_sync::<st3::fifo::Worker<u32>>();
/// ```
struct SharedOwner;

/// ```
/// fn is_clone<Q: Clone>() {}
/// is_clone::<st3::lifo::Stealer<u32>>();
/// is_clone::<st3::fifo::Stealer<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_clone<Q: Clone>() {}
/// is_clone::<st3::lifo::Worker<u32>>();
/// ```
/// ```compile_fail,E0277
/// fn is_clone<Q: Clone>() {}
/// is_clone::<st3::fifo::Worker<u32>>();
/// ```
struct SecondOwner;

/// ```
/// fn is_shared<Q: Send + Sync>() {}
/// is_shared::<st3::lifo::Stealer<std::sync::Arc<()>>>();
/// is_shared::<st3::fifo::Drain<'static, std::sync::Arc<()>>>();
/// ```
/// ```compile_fail,E0277
/// fn is_shared<Q: Send + Sync>() {}
/// is_shared::<st3::lifo::Stealer<std::rc::Rc<()>>>();
/// ```
/// ```compile_fail,E0277
/// fn is_shared<Q: Send + Sync>() {}
/// is_shared::<st3::fifo::Drain<'static, std::rc::Rc<()>>>();
/// ```
struct ItemsOfOneThread;
