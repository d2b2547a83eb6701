//! The I/O driver of a pool: made when the first of its tasks registers something, gone when the pool has ended.

use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brigade_io::{Driver, NoDriver};
use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, Ordering};

/// The driver, if there is one.
pub(crate) struct Driving {
    state: Mutex<State>,
    /// Whether there is one, for a look without the lock.
    is_made: AtomicBool,
}

enum State {
    /// Nothing has been registered.
    None,
    Made(Arc<Driver>),
    /// The pool has ended, or the system has refused to wait: no thread polls any more, and the driver is closed.
    Closed,
}

/// Refers to the driver while a thread sleeps on it.
pub(crate) type DriverRef = Arc<Driver>;

/// Why there is none any more.
pub(crate) fn closed() -> io::Error {
    io::Error::other(NoDriver::Closed)
}

impl Driving {
    /// Whether there can be one.
    pub(crate) const CAN_BE_MADE: bool = true;

    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::None), is_made: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn is_made(&self) -> bool {
        // Ordering: Relaxed: the caller goes by the fences of `idle`, or takes the lock.
        self.is_made.load(Ordering::Relaxed)
    }

    /// The driver, if there is one.
    pub(crate) fn get(&self) -> Option<DriverRef> {
        if !self.is_made() {
            return None;
        }
        match &*self.state.lock() {
            State::Made(driver) => Some(driver.clone()),
            State::None | State::Closed => None,
        }
    }

    /// The driver, made now if there is none; says whether it was. `blocking` runs what its resources do that blocks.
    pub(crate) fn get_or_make(
        &self,
        blocking: fn(&mut dyn FnMut()),
    ) -> io::Result<(DriverRef, bool)> {
        let mut state = self.state.lock();
        match &*state {
            State::Made(driver) => Ok((driver.clone(), false)),
            State::Closed => Err(closed()),
            State::None => {
                let driver = Driver::with_blocking(blocking)?;
                *state = State::Made(driver.clone());
                self.is_made.store(true, Ordering::Relaxed);
                Ok((driver, true))
            }
        }
    }

    /// Waits for events for `timeout` at most; `false`, at once, if another thread does. If the system refuses, which it would
    /// again, the driver is closed: what waits for events fails.
    pub(crate) fn poll(&self, timeout: Option<Duration>, wake: &mut impl FnMut(Waker)) -> bool {
        let Some(driver) = self.get() else { return true };
        match driver.drive(timeout, wake) {
            Ok(_) => true,
            // Another thread does, or this is a child that the thread has forked.
            Err(error) if error.raw_os_error().is_none() => false,
            Err(_) => {
                // Another thread may sleep on what the file was before. It will be woken elsewhere from now on.
                driver.notify();
                self.close(wake);
                true
            }
        }
    }

    /// Ends the wait of the thread that waits, or the next one.
    pub(crate) fn notify(&self) {
        self.get().into_iter().for_each(|driver| driver.notify());
    }

    /// Wakes what waits for events, which fails from now on, and drops the pool's reference to the driver.
    pub(crate) fn close(&self, wake: &mut impl FnMut(Waker)) {
        let former = core::mem::replace(&mut *self.state.lock(), State::Closed);
        self.is_made.store(false, Ordering::Relaxed);
        if let State::Made(driver) = former {
            driver.close(wake);
        }
    }
}
