//! The settings of a job, and a closure queued in a bounded pool.

use std::borrow::Cow;
use std::time::Instant;

use brigade_task::Work;

use crate::engine::Permit;
use crate::values::Priority;

/// The settings of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) deadline: Option<Instant>,
    pub(crate) name: Option<Cow<'static, str>>,
    /// The class of the job; `None` for the submitting job's class. It decides where the job is queued, and a stored
    /// job does not need it.
    pub(crate) class: Option<Priority>,
}

impl Options {
    /// Whether nothing was set.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_stored() && self.class.is_none()
    }

    /// Whether a setting stored with the job was set.
    pub(crate) fn is_stored(&self) -> bool {
        self.deadline.is_some() || self.name.is_some()
    }
}

/// A closure with a permit, or none, and without other additions.
pub(super) struct Queued<F> {
    /// First, so that the permit is released before any user code runs, including the drop of the closure.
    pub(super) permit: Option<Permit>,
    pub(super) work: F,
}

impl<F, T> Work for Queued<F>
where
    F: FnOnce() -> T + Send + 'static,
{
    type Output = T;

    #[inline]
    fn run(self) -> T {
        let Self { permit, work } = self;
        drop(permit);
        work()
    }
}
