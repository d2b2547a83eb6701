//! Replaces the driver if the feature `io` is off: nothing waits for I/O.

use std::task::Waker;
use std::time::Duration;

pub(crate) struct Driving;

/// There is no driver.
#[derive(Clone)]
pub(crate) enum DriverRef {}

impl DriverRef {
    pub(crate) fn notify(&self) {
        match *self {}
    }
}

impl Driving {
    pub(crate) const CAN_BE_MADE: bool = false;

    pub(crate) fn new() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn is_made(&self) -> bool {
        false
    }

    pub(crate) fn get(&self) -> Option<DriverRef> {
        None
    }

    pub(crate) fn poll(
        &self,
        _: impl FnOnce() -> bool,
        _: Option<Duration>,
        _: &mut impl FnMut(Waker),
    ) -> bool {
        true
    }

    pub(crate) fn is_driven(&self) -> bool {
        false
    }

    pub(crate) fn notify(&self) {}

    pub(crate) fn close(&self, _: &mut impl FnMut(Waker)) {}
}
