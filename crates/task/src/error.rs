//! The reasons why a job has no result.

use core::any::Any;
use core::fmt;

/// The reason why a job has no result.
pub enum JoinError {
    /// It panicked; this is the panic's payload.
    Panicked(Box<dyn Any + Send>),
    /// It was dropped before it ran; a future, before it was ready.
    Cancelled,
    /// The caller would have waited for ever; the job continues.
    WouldDeadlock,
}

impl JoinError {
    /// Returns the message of a panic, if its payload is a string.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Panicked(payload) => payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str)),
            Self::Cancelled | Self::WouldDeadlock => None,
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(_) => f.debug_tuple("Panicked").field(&self.message()).finish(),
            Self::Cancelled => f.write_str("Cancelled"),
            Self::WouldDeadlock => f.write_str("WouldDeadlock"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.message()) {
            (Self::Cancelled, _) => f.write_str("the job was cancelled before it ran"),
            (Self::WouldDeadlock, _) => f.write_str(
                "the job would never end: it waits, itself or through others, for the job that joins it, so let one of \
                 them go on without the other; or all threads that its pool may have wait in such joins, so give it \
                 more spare threads or await the result",
            ),
            (Self::Panicked(_), Some(message)) => write!(f, "the job panicked: {message}"),
            (Self::Panicked(_), None) => f.write_str("the job panicked"),
        }
    }
}

impl std::error::Error for JoinError {}
