//! The jobs that the future of a [`block_on`](crate::block_on) waits for, if it waits only for jobs.
//!
//! A handle that is polled by the waker of the `block_on` leaves another one with its job. So if nothing has a clone of the
//! former, only the end of a job can wake the thread. Which jobs those are is noted at each poll.

use core::cell::{Cell, RefCell};
use core::task::{Context, Poll, Waker};

use brigade_task::JobId;

use crate::key::Key;

brigade_sync::scoped_thread_local! {
    /// The poll that this thread is in.
    static CURRENT: Polled
}

/// What a poll has come to wait for.
pub(crate) struct Polled {
    /// Polls the future.
    waker: Waker,
    /// What handles leave with their jobs in its place.
    for_jobs: Waker,
    jobs: RefCell<Vec<(JobId, Key)>>,
    /// A job for which it must not wait.
    refused: Cell<Option<JobId>>,
}

/// It would be waited for ever.
pub(crate) struct Refused;

impl Polled {
    /// Polls with `waker`, by which handles leave `for_jobs`.
    pub(crate) fn new(waker: Waker, for_jobs: Waker) -> Self {
        Self { waker, for_jobs, jobs: RefCell::default(), refused: Cell::new(None) }
    }

    /// Polls with another waker from now on.
    pub(crate) fn set_waker(&mut self, waker: Waker) {
        self.waker = waker;
    }

    /// Calls what polls, and returns the jobs that it waits for.
    pub(crate) fn poll<R>(&self, poll: impl FnOnce(&Waker) -> R) -> (R, Vec<(JobId, Key)>) {
        self.jobs.borrow_mut().clear();
        let result = CURRENT.set(self, || poll(&self.waker));
        (result, self.jobs.take())
    }

    /// Has the next poll of that job's handle say that the wait would be for ever.
    pub(crate) fn refuse(&self, job: JobId) {
        self.refused.set(Some(job));
    }

    /// The handle of a job is not ready.
    fn note(&self, job: JobId, pool: Key) -> Result<(), Refused> {
        self.jobs.borrow_mut().push((job, pool));
        if self.refused.get() != Some(job) {
            return Ok(());
        }
        self.refused.set(None);
        Err(Refused)
    }
}

/// Calls what polls the handle of a job, with the waker that it must leave.
///
/// # Errors
/// If the handle is not ready and the job must not be waited for.
pub(crate) fn poll_job<R>(
    context: &mut Context<'_>,
    (job, pool): (JobId, Key),
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Result<Poll<R>, Refused> {
    CURRENT.with(|polled| {
        let Some(polled) = polled.filter(|polled| polled.waker.will_wake(context.waker())) else {
            return Ok(poll(context));
        };
        let result = poll(&mut Context::from_waker(&polled.for_jobs));
        if result.is_pending() {
            polled.note(job, pool)?;
        }
        Ok(result)
    })
}
