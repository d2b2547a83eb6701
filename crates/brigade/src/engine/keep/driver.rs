//! The driver of a pool: made when the first of its tasks registers something.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::Duration;

use brigade_io::{Driver, DriverSupply};
use brigade_sync::Mutex;

use crate::engine::Core;
use crate::registry;

/// The driver, if it has been made, and who makes it.
pub(crate) struct Driving {
    driver: OnceLock<Arc<Driver>>,
    /// Held by who makes it.
    making: Mutex<()>,
    /// What the pool's threads are entered into.
    supply: DriverSupply,
}

impl Driving {
    /// Whether there can be one.
    pub(crate) const CAN_BE_MADE: bool = true;

    pub(crate) fn new(core: &Weak<Core>) -> Self {
        let core = core.clone();
        let supply = DriverSupply::new(move || match core.upgrade() {
            Some(core) if registry::is_here(core.key) => core.driver(),
            _ => {
                Err(io::Error::other("the pool is not here any more; make files in a pool that is"))
            }
        });
        Self { driver: OnceLock::new(), making: Mutex::default(), supply }
    }

    #[inline]
    pub(crate) fn is_made(&self) -> bool {
        self.driver.get().is_some()
    }

    /// Calls with the pool's as the thread's driver.
    pub(crate) fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        self.supply.enter(call)
    }

    /// Looks for what can go on, for `timeout` at most; `false`, at once, if another thread does or the system refuses.
    pub(crate) fn drive(&self, timeout: Option<Duration>, wake: &mut impl FnMut(Waker)) -> bool {
        self.driver.get().is_none_or(|driver| driver.drive(timeout, wake).is_ok())
    }

    /// Ends the look of whoever looks, or the next one.
    pub(crate) fn notify(&self) {
        self.driver.get().into_iter().for_each(|driver| driver.notify());
    }

    /// Nobody looks any more.
    pub(crate) fn close(&self, wake: &mut impl FnMut(Waker)) {
        self.driver.get().into_iter().for_each(|driver| driver.close(wake));
    }
}

impl Core {
    /// Calls with the pool's as the thread's driver.
    pub(crate) fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        self.keep.driver.enter(call)
    }

    /// The pool's driver, made now if it has none.
    pub(crate) fn driver(&self) -> io::Result<Arc<Driver>> {
        let driving = &self.keep.driver;
        if let Some(driver) = driving.driver.get() {
            return Ok(driver.clone());
        }
        let held = if self.may_be_empty() { Some(self.hold()) } else { None };
        if matches!(held, Some(None)) {
            return Err(io::Error::other("the pool has no thread and can't start one"));
        }
        let making = driving.making.lock();
        let driver = match driving.driver.get() {
            Some(driver) => driver.clone(),
            None => {
                let driver = Driver::new()?;
                driving.driver.get_or_init(|| driver).clone()
            }
        };
        drop(making);
        if self.idle.snapshot().terminated() {
            // Whoever ended the pool may not have seen it.
            driver.close(&mut Waker::wake);
        }
        self.keep_anew();
        Ok(driver)
    }
}
