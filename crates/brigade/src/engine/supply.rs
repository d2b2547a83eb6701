//! How the I/O resources of a pool get the driver.

use std::sync::{Arc, Weak};

use super::enter::{enter_outside, outside};
use super::key::Key;
use super::shared::Shared;
#[cfg(feature = "io")]
use super::sleep::events::driver::{DriverRef, closed};
use super::sleep::resources::Resources;
#[cfg(feature = "io")]
use super::wait::blocked::blocking;

/// Calls a closure on a thread that enters this pool, which may no longer exist.
pub(crate) fn enter(key: Key, shared: Option<&Arc<Shared>>, call: &mut dyn FnMut()) {
    match shared {
        Some(shared) => enter_outside(shared, call),
        None => {
            outside(key, &mut || resources_of(Weak::new()).enter(&mut *call));
        }
    }
}

/// The resources of this pool; if the pool no longer exists, they are errors.
#[cfg(feature = "io")]
pub(crate) fn resources_of(shared: Weak<Shared>) -> Resources {
    Resources::new(move || match shared.upgrade() {
        Some(shared) => shared.driver(),
        None => Err(closed()),
    })
}

/// As above, without I/O.
#[cfg(not(feature = "io"))]
pub(crate) fn resources_of(_: Weak<Shared>) -> Resources {
    Resources
}

#[cfg(feature = "io")]
impl Shared {
    /// Returns the pool's driver, made now if there is none.
    ///
    /// # Errors
    /// If the pool has ended, belongs to another process, or has no thread and can't start one; otherwise the operating
    /// system's error.
    pub(crate) fn driver(&self) -> std::io::Result<DriverRef> {
        if !self.key.is_here() {
            return Err(closed());
        }
        if let Some(driver) = self.events.driver.get() {
            return Ok(driver);
        }
        let no_thread = |_| std::io::Error::other("the pool has no thread and can't start one");
        let _reserved = self.reserve().map_err(no_thread)?;
        let blocking = |code: &mut dyn FnMut()| blocking(code);
        let (driver, is_new) = self.events.driver.get_or_make(blocking)?;
        if is_new {
            self.event_added(None);
        }
        Ok(driver)
    }
}
