//! How a call ended.

use std::fmt::Debug;

use brigade::time::Elapsed;
use brigade::{JoinError, Reason};

/// The result of the job that ends each wait.
pub(crate) const RESULT: u32 = 42;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With the job's [`RESULT`].
    Result,
    /// Without it: the job was cancelled, or the pool rejected the call.
    Refused,
    /// In any other way.
    Wrong(String),
}

impl Outcome {
    fn wrong(what: impl Debug) -> Self {
        Self::Wrong(format!("{what:?}"))
    }
}

/// The result of a call.
pub(crate) trait Told {
    fn told(self) -> Outcome;
}

impl Told for u32 {
    fn told(self) -> Outcome {
        if self == RESULT { Outcome::Result } else { Outcome::wrong(self) }
    }
}

impl Told for Outcome {
    fn told(self) -> Outcome {
        self
    }
}

impl<T: Told> Told for Option<T> {
    fn told(self) -> Outcome {
        self.map_or_else(|| Outcome::wrong("None"), T::told)
    }
}

impl<T: Told> Told for Result<T, JoinError> {
    fn told(self) -> Outcome {
        match self {
            Ok(result) => result.told(),
            Err(JoinError::Cancelled(_)) => Outcome::Refused,
            Err(error) => Outcome::wrong(error),
        }
    }
}

impl<T: Told> Told for Result<T, Reason> {
    fn told(self) -> Outcome {
        match self {
            Ok(result) => result.told(),
            Err(Reason::Closed) => Outcome::Refused,
            Err(reason) => Outcome::wrong(reason),
        }
    }
}

impl<T: Told> Told for Result<T, Elapsed> {
    fn told(self) -> Outcome {
        self.map_or_else(Outcome::wrong, T::told)
    }
}
