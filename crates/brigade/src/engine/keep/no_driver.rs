//! In place of a driver where the feature `io` is off: nothing is ever waited for.

use std::sync::Weak;
use std::task::Waker;
use std::time::Duration;

use crate::engine::Core;

pub(crate) struct Driving;

impl Driving {
    pub(crate) const CAN_BE_MADE: bool = false;

    pub(crate) fn new(_: &Weak<Core>) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn is_made(&self) -> bool {
        false
    }

    pub(crate) fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        call()
    }

    pub(crate) fn drive(&self, _: Option<Duration>, _: &mut impl FnMut(Waker)) -> bool {
        true
    }

    pub(crate) fn notify(&self) {}

    pub(crate) fn close(&self, _: &mut impl FnMut(Waker)) {}
}
