//! The reason why a steal took nothing.

use core::fmt;

/// The reason why a steal took nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StealError {
    /// There was nothing to take, or no free slot to move it to.
    Empty,
    /// Another thief holds a claim, or the owner was faster four times in a row.
    Busy,
}

impl fmt::Display for StealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => brigade_queue::StealError::Empty.fmt(f),
            Self::Busy => brigade_queue::StealError::Busy.fmt(f),
        }
    }
}

impl From<brigade_queue::StealError> for StealError {
    #[inline]
    fn from(error: brigade_queue::StealError) -> Self {
        match error {
            brigade_queue::StealError::Empty => Self::Empty,
            brigade_queue::StealError::Busy => Self::Busy,
        }
    }
}
