//! The settings of a job.

use std::time::Instant;

use super::carried::Carried;
use crate::values::Priority;

/// The settings of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) deadline: Option<Instant>,
    pub(crate) carried: Carried,
    /// The class of the job; `None` for the submitting job's class. It decides where the job is queued, and a stored
    /// job does not need it.
    pub(crate) class: Option<Priority>,
}

impl Options {
    /// Whether a setting stored with the job was set.
    pub(crate) fn is_stored(&self) -> bool {
        self.deadline.is_some() || !self.carried.is_empty()
    }
}
