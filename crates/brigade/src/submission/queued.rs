//! The additions of a bounded pool, a deadline or a name to a closure.

use std::borrow::Cow;
use std::time::Instant;

use brigade_task::Work;

use super::job_name;
use crate::engine::{Permit, label_job, now};
use crate::values::Priority;

/// The settings of a [`JobBuilder`](super::JobBuilder) stored with a job: nothing, or its [`Options`].
pub(crate) trait Terms: Send + 'static {
    /// The instant from which on the job must not be started.
    fn deadline(&self) -> Option<Instant>;

    /// Whether the job may still be started.
    #[inline]
    fn may_start(&self) -> bool {
        self.deadline().is_none_or(|at| now() < at)
    }

    /// The class of the job; `None` for the submitting job's class.
    fn class(&self) -> Option<Priority>;

    /// The name of the job.
    fn name(&self) -> Option<Cow<'static, str>>;

    /// Runs the job.
    fn run<R>(self, call: impl FnOnce() -> R) -> R;
}

impl Terms for () {
    #[inline(always)]
    fn deadline(&self) -> Option<Instant> {
        None
    }

    #[inline(always)]
    fn class(&self) -> Option<Priority> {
        None
    }

    #[inline(always)]
    fn name(&self) -> Option<Cow<'static, str>> {
        None
    }

    #[inline(always)]
    fn run<R>(self, call: impl FnOnce() -> R) -> R {
        call()
    }
}

/// The settings of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) deadline: Option<Instant>,
    pub(crate) name: Option<Cow<'static, str>>,
    /// The class of the job; `None` for the submitting job's class. It decides where the job is queued, and is not
    /// stored with the job.
    pub(crate) class: Option<Priority>,
}

impl Terms for Options {
    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn class(&self) -> Option<Priority> {
        self.class
    }

    fn name(&self) -> Option<Cow<'static, str>> {
        self.name.clone()
    }

    fn run<R>(self, call: impl FnOnce() -> R) -> R {
        label_job(self.name.as_ref(), None);
        job_name::set(&self.name, call)
    }
}

/// A closure queued in a bounded pool, or with a deadline or a name.
pub(super) struct Queued<F, D> {
    /// First, so that the permit is released before any user code runs, including the drop of the closure.
    pub(super) permit: Option<Permit>,
    pub(super) terms: D,
    pub(super) work: F,
}

impl<F, T, D> Work for Queued<F, D>
where
    F: FnOnce() -> T + Send + 'static,
    D: Terms,
{
    type Output = T;

    #[inline]
    fn may_start(&self) -> bool {
        self.terms.may_start()
    }

    #[inline]
    fn run(self) -> T {
        let Self { permit, terms, work } = self;
        drop(permit);
        terms.run(work)
    }
}
