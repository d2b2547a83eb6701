//! What an observed pool adds to a closure.

use brigade_task::{Job, Work};

use super::Receipt;
use super::queued::{Queued, Terms};
use crate::rejected::closure_of;
use crate::watch::{Watch, Watcher};

/// A closure that is queued in an observed pool.
pub(super) struct Watched<F, D> {
    /// First, so that it has been dropped when the end of the job is told.
    queued: Queued<F, D>,
    watch: Watch,
}

impl<F, D> Watched<F, D> {
    pub(super) fn new(watch: Watch, queued: Queued<F, D>) -> Self {
        Self { queued, watch }
    }

    /// The closure, which was not accepted.
    pub(super) fn withdraw(self) -> F {
        self.watch.withdraw();
        self.queued.work
    }
}

impl<F, T, D> Work for Watched<F, D>
where
    F: FnOnce() -> T + Send + 'static,
    D: Terms,
{
    type Output = T;

    fn may_start(&self) -> bool {
        self.queued.may_start()
    }

    fn run(self) -> T {
        let Self { queued: Queued { permit, terms, work }, watch } = self;
        drop(permit);
        watch.run(|| terms.run(work))
    }
}

/// Makes a job and a receipt, watched if there is a watcher.
pub(super) fn make<F, D, T, R>(watcher: Option<Watcher>, queued: Queued<F, D>) -> (Job, R)
where
    F: FnOnce() -> T + Send + 'static,
    D: Terms,
    R: Receipt<T>,
{
    match watcher {
        None => R::make(queued),
        Some(watcher) => R::make(Watched::new(watcher.begin(R::IS_HANDLE), queued)),
    }
}

/// The closure of a rejected job that [`make`] made.
pub(super) fn unmade<F: 'static, D: 'static>(job: Job) -> F {
    match job.into_closure::<Queued<F, D>>() {
        Ok(queued) => queued.work,
        Err(job) => closure_of::<Watched<F, D>>(job).withdraw(),
    }
}
