//! The wrapper of a closure that is queued in a bounded pool or with a deadline.

use std::time::Instant;

use brigade_task::Work;

use crate::semaphore::Permit;

/// When a queued job must not be started any more: never, or from an instant on.
pub(crate) trait Deadline: Copy + Send + 'static {
    /// The instant, if there is one.
    fn at(self) -> Option<Instant>;
}

impl Deadline for () {
    #[inline(always)]
    fn at(self) -> Option<Instant> {
        None
    }
}

impl Deadline for Instant {
    #[inline(always)]
    fn at(self) -> Option<Instant> {
        Some(self)
    }
}

/// A closure that is queued in a bounded pool or with a deadline.
pub(super) struct Queued<F, D> {
    /// First, so that it is given back before any user code runs, the drop of the closure included.
    pub(super) permit: Option<Permit>,
    pub(super) deadline: D,
    pub(super) work: F,
}

impl<F, T, D> Work for Queued<F, D>
where
    F: FnOnce() -> T + Send + 'static,
    D: Deadline,
{
    type Output = T;

    #[inline]
    fn may_start(&self) -> bool {
        self.deadline.at().is_none_or(|at| Instant::now() < at)
    }

    #[inline]
    fn run(self) -> T {
        let Self { permit, work, .. } = self;
        drop(permit);
        work()
    }
}
