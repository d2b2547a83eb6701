//! Threads on which I/O resources belong to a pool.

use std::sync::Arc;

use super::core::Core;

/// Makes a call on this thread; I/O resources that are made meanwhile belong to this pool.
#[cfg(feature = "io")]
pub(crate) fn enter_pool<R>(core: &Arc<Core>, call: impl FnOnce() -> R) -> R {
    // Weak: nothing that the thread keeps may keep the pool alive.
    let core = Arc::downgrade(core);
    let driver = move || match core.upgrade() {
        Some(core) => core.driver(),
        None => Err(super::events::closed()),
    };
    brigade_io::DriverSupply::new(driver).enter(call)
}

/// Makes the call; without the feature there are no I/O resources.
#[cfg(not(feature = "io"))]
pub(crate) fn enter_pool<R>(_: &Arc<Core>, call: impl FnOnce() -> R) -> R {
    call()
}

#[cfg(feature = "io")]
impl Core {
    /// The pool's driver, made now if it has none.
    ///
    /// # Errors
    /// If the pool has ended, is not in this process, or has no thread and can't start one; else what the system says.
    pub(crate) fn driver(&self) -> std::io::Result<super::events::DriverRef> {
        if !self.key.is_here() {
            return Err(super::events::closed());
        }
        if let Some(driver) = self.events.driver.get() {
            return Ok(driver);
        }
        let no_thread = |_| std::io::Error::other("the pool has no thread and can't start one");
        let _reserved = self.reserve().map_err(no_thread)?;
        let (driver, is_new) = self.events.driver.get_or_make()?;
        if is_new {
            self.event_added();
        }
        Ok(driver)
    }
}
