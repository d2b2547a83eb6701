//! Threads that have entered a pool: what they spawn, their timers and their I/O resources belong to it.

use core::cell::Cell;
use std::sync::{Arc, Weak};

use brigade_task::enter_other;

use super::core::Core;
use super::resources::Resources;
use crate::key::Key;

brigade_sync::thread_local! {
    /// The pool that this thread has entered last, unless it runs a job since.
    static ENTERED: Cell<Option<Key>> = const { Cell::new(None) };
}

/// Returns the pool that this thread has entered.
#[inline]
pub(crate) fn entered() -> Option<Key> {
    ENTERED.try_with(Cell::get).ok().flatten()
}

/// Calls a closure on a thread that enters this pool, which may no longer exist.
pub(crate) fn enter<R>(key: Key, core: Option<&Arc<Core>>, call: impl FnOnce() -> R) -> R {
    enter_as(Some(key), || match core {
        Some(core) => core.resources.enter(call),
        None => resources_of(Weak::new()).enter(call),
    })
}

/// Calls what runs a job of this pool on one of its workers, inside another job, to which it does not belong.
#[inline]
pub(crate) fn enter_job<R>(core: &Core, call: impl FnOnce() -> R) -> R {
    enter_other(|| enter_pool(core, call))
}

/// Calls a closure that runs a job on a worker of this pool inside another job, whose entered pool does not apply to it.
#[inline(always)]
pub(crate) fn enter_pool<R>(core: &Core, call: impl FnOnce() -> R) -> R {
    if entered().is_none() { call() } else { enter_pool_again(core, call) }
}

#[cold]
#[inline(never)]
fn enter_pool_again<R>(core: &Core, call: impl FnOnce() -> R) -> R {
    enter_as(None, || core.resources.enter(call))
}

fn enter_as<R>(key: Option<Key>, call: impl FnOnce() -> R) -> R {
    struct Restore(Option<Key>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = ENTERED.try_with(|entered| entered.set(self.0));
        }
    }
    let former = ENTERED.try_with(|entered| entered.replace(key)).ok().flatten();
    let _restore = Restore(former);
    call()
}

/// The resources of this pool, or those of a pool that no longer exists, which are errors.
#[cfg(feature = "io")]
pub(crate) fn resources_of(core: Weak<Core>) -> Resources {
    Resources::new(move || match core.upgrade() {
        Some(core) => core.driver(),
        None => Err(super::events::closed()),
    })
}

/// As above.
#[cfg(not(feature = "io"))]
pub(crate) fn resources_of(_: Weak<Core>) -> Resources {
    Resources
}

#[cfg(feature = "io")]
impl Core {
    /// The pool's driver, made now if it has none.
    ///
    /// # Errors
    /// If the pool has ended, belongs to another process, or has no thread and can't start one; otherwise the operating
    /// system's error.
    pub(crate) fn driver(&self) -> std::io::Result<super::events::DriverRef> {
        if !self.key.is_here() {
            return Err(super::events::closed());
        }
        if let Some(driver) = self.events.driver.get() {
            return Ok(driver);
        }
        let no_thread = |_| std::io::Error::other("the pool has no thread and can't start one");
        let _reserved = self.reserve().map_err(no_thread)?;
        let blocking = |code: &mut dyn FnMut()| super::blocking(code);
        let (driver, is_new) = self.events.driver.get_or_make(blocking)?;
        if is_new {
            self.event_added(None);
        }
        Ok(driver)
    }
}
