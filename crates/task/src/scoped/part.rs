//! A job that borrows, as a value.

use core::any::TypeId;

use crate::job::Job;
use crate::region::{OfFork, Region};

/// A job of a fork or a scope.
///
/// A part that is kept, or [forgotten](core::mem::forget), keeps the fork or the scope waiting. A dropped part cancels the job
/// of a scope, and returns the job of a fork to the forking thread.
///
/// **Part rule.** The first word of the payload is the address of the region.
pub struct Part(Job);

impl Part {
    /// Wraps a job.
    ///
    /// # Safety
    /// Part rule.
    #[inline(always)]
    pub(super) unsafe fn new(job: Job) -> Self {
        Self(job)
    }

    /// The fork or the scope of this part.
    #[inline(always)]
    pub fn region(&self) -> Region {
        // SAFETY: Part rule.
        Region(unsafe { self.0.first_word() }.addr())
    }

    /// Whether this is a fork: a part of the forking job, rather than a separate job.
    pub fn is_fork(&self) -> bool {
        self.0.identify() == TypeId::of::<OfFork>()
    }

    /// Drops a part of a scope if the handle has [claimed](Job::is_stale) it, which calls no user code; returns any other part.
    #[must_use]
    pub fn unless_stale(self) -> Option<Self> {
        self.0.drop_if_stale().err().map(Self)
    }

    /// Returns the job, which runs it.
    pub fn into_job(self) -> Job {
        self.0
    }
}

brigade_sync::opaque!(Part: region);
