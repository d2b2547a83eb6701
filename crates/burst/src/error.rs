//! The reasons why a value was not handed over or not received.

use core::error::Error;
use core::fmt;

pub use std::sync::mpsc::{RecvError as Disconnected, RecvTimeoutError, TryRecvError};

/// No receiver waits; contains the value.
///
/// ```
/// let (sender, receiver) = brigade_burst::channel();
/// let busy = sender.dispatch(7).unwrap_err();
/// assert_eq!(busy.into_inner(), 7);
/// # drop(receiver);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Busy<T>(pub T);

impl<T> Busy<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Busy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Busy(..)")
    }
}

impl<T> fmt::Display for Busy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no receiver waits")
    }
}

impl<T> Error for Busy<T> {}
