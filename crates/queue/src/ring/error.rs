//! The reasons why a steal took nothing and why a ring was not created.

use alloc::collections::TryReserveError;
use core::fmt;

/// The reason why a steal took nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealError {
    /// There was nothing to take, or no free slot to move it to.
    Empty,
    /// Another thief holds a claim, or the owner was faster four times in a row: try again, or another queue.
    Busy,
}

impl fmt::Display for StealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "nothing to steal, or no room for it; try another queue",
            Self::Busy => "another thief is stealing from this queue; try again, or another queue",
        })
    }
}

impl core::error::Error for StealError {}

/// The reason why a ring was not created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewError {
    /// More slots were requested than positions can tell apart.
    Capacity {
        /// The number of slots requested.
        asked: usize,
        /// The largest possible number.
        most: usize,
    },
    /// There is not enough memory for the slots.
    Memory(TryReserveError),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { asked, most } => {
                write!(f, "a ring holds at most {most} items, not {asked}; ask for fewer")
            }
            Self::Memory(error) => write!(f, "no memory for the slots of a ring: {error}"),
        }
    }
}

impl core::error::Error for NewError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Capacity { .. } => None,
            Self::Memory(error) => Some(error),
        }
    }
}
