//! The reason why nothing is received any more.

use std::error::Error;
use std::fmt;

/// The reason why nothing is received any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvError {
    /// The sender has been dropped, and no value is left for the receiver.
    Orphaned,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Orphaned => brigade_burst::Disconnected.fmt(f),
        }
    }
}

impl Error for RecvError {}
