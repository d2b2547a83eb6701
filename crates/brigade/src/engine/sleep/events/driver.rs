//! The I/O driver of a pool: made when the first I/O resource is registered, closed when the pool has ended.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, Ordering};

use crate::engine::sleep::resources::Driver;

/// The driver, if any.
pub(crate) struct Driving {
    state: Mutex<DriverState>,
    /// Whether there is a driver, for a check without the lock.
    is_made: AtomicBool,
}

enum DriverState {
    /// Nothing has been registered.
    None,
    #[cfg_attr(not(feature = "io"), expect(dead_code, reason = "nothing makes one"))]
    Made(DriverRef),
    /// The pool has ended, or the operating system has returned an error: no thread polls any more.
    Closed,
}

/// Refers to the driver while a thread sleeps on it.
pub(crate) type DriverRef = Arc<Driver>;

/// The error after the driver has been closed.
#[cfg(feature = "io")]
pub(crate) fn closed() -> std::io::Error {
    std::io::Error::other(brigade_io::NoDriver::Closed)
}

impl Driving {
    /// Whether there can be a driver.
    pub(crate) const CAN_BE_MADE: bool = cfg!(feature = "io");

    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(DriverState::None), is_made: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn is_made(&self) -> bool {
        // Ordering: Relaxed: the caller relies on the fences of `idle`, or takes the lock.
        Self::CAN_BE_MADE && self.is_made.load(Ordering::Relaxed)
    }

    /// The driver, if any.
    pub(crate) fn get(&self) -> Option<DriverRef> {
        if !self.is_made() {
            return None;
        }
        match &*self.state.lock() {
            DriverState::Made(driver) => Some(driver.clone()),
            DriverState::None | DriverState::Closed => None,
        }
    }

    /// Returns the driver, and whether this call made it. `blocking` runs the blocking operations of the driver's
    /// resources.
    #[cfg(feature = "io")]
    pub(crate) fn get_or_make(
        &self,
        blocking: fn(&mut dyn FnMut()),
    ) -> std::io::Result<(DriverRef, bool)> {
        let mut state = self.state.lock();
        match &*state {
            DriverState::Made(driver) => Ok((driver.clone(), false)),
            DriverState::Closed => Err(closed()),
            DriverState::None => {
                let driver = Driver::with_blocking(blocking)?;
                *state = DriverState::Made(driver.clone());
                self.is_made.store(true, Ordering::Relaxed);
                Ok((driver, true))
            }
        }
    }

    /// Waits for events for at most `timeout`, or polls without waiting if `is_woken`. Returns `false` immediately if
    /// a different thread polls, or in a forked child.
    ///
    /// An error of the operating system would recur, so it closes the driver: operations that wait for events fail.
    pub(crate) fn poll(
        &self,
        is_woken: impl FnOnce() -> bool,
        timeout: Option<Duration>,
        wake: &mut impl FnMut(Waker),
    ) -> bool {
        let Some(driver) = self.get() else { return true };
        match driver.drive_unless(is_woken, timeout, wake) {
            Ok(_) => true,
            // A different thread polls, or this process is a forked child.
            Err(error) if error.raw_os_error().is_none() => false,
            Err(_) => {
                // A thread may still sleep on the file, as it was before the error. From now on it is woken by other
                // means.
                driver.notify();
                self.close(wake);
                true
            }
        }
    }

    /// Whether a thread polls.
    pub(crate) fn is_driven(&self) -> bool {
        self.get().is_some_and(|driver| driver.is_driven())
    }

    /// Ends the current wait, or the next.
    pub(crate) fn notify(&self) {
        let Some(driver) = self.get() else { return };
        driver.notify();
    }

    /// Wakes all operations that wait for events, which then fail, and drops the pool's reference to the driver.
    pub(crate) fn close(&self, wake: &mut impl FnMut(Waker)) {
        let former = core::mem::replace(&mut *self.state.lock(), DriverState::Closed);
        self.is_made.store(false, Ordering::Relaxed);
        if let DriverState::Made(driver) = former {
            driver.close(wake);
        }
    }
}
