//! A job that borrows, as a value.

use core::any::TypeId;

use crate::job::Job;
use crate::region::{OfFork, Region};

/// A job that is a part of a fork or a scope.
///
/// A program that keeps one, or [forgets](core::mem::forget) it, keeps the fork or the scope waiting. Dropped, it cancels the job
/// of a scope, and leaves a fork's to the thread that forked it.
///
/// **Part rule.** The first word of its payload is the address of its region.
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

    /// The fork or the scope that this is a part of.
    #[inline(always)]
    pub fn region(&self) -> Region {
        // SAFETY: Part rule.
        Region(unsafe { self.0.first_word() }.addr())
    }

    /// Whether this is a fork: a part of the job that forked it, rather than a job of its own.
    pub fn is_fork(&self) -> bool {
        self.0.identify() == TypeId::of::<OfFork>()
    }

    /// Drops a part of a scope that its handle has [claimed](Job::is_stale), which calls no user code; returns any other part.
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
