//! The jobs that the future of a [`block_on`](crate::block_on) waits for, if it waits only for jobs.
//!
//! A handle that is polled with the waker of the `block_on` registers another waker with its job. So if the first waker has no
//! clones, only the end of a job can wake the thread. Each poll notes which jobs these are.

use core::cell::{Cell, RefCell};
use core::task::{Context, Poll, Waker};

use brigade_task::JobId;

use crate::key::Key;

brigade_sync::scoped_thread_local! {
    /// The poll that this thread is executing.
    static CURRENT: Polled
}

/// A job that a poll waits for.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) pool: Key,
    /// The index of the only worker that may run it, if it is a share of a broadcast.
    pub(crate) share_of: Option<usize>,
}

/// The jobs that a poll waits for.
pub(crate) struct Polled {
    /// Polls the future.
    waker: Waker,
    /// The waker that handles register with their jobs in its place.
    for_jobs: Waker,
    jobs: RefCell<Vec<Job>>,
    /// A job that it must not wait for.
    refused: Cell<Option<JobId>>,
}

/// The error for a handle whose wait would never end.
pub(crate) struct Refused;

impl Polled {
    /// Polls with `waker`, for which handles register `for_jobs`.
    pub(crate) fn new(waker: Waker, for_jobs: Waker) -> Self {
        Self { waker, for_jobs, jobs: RefCell::default(), refused: Cell::new(None) }
    }

    /// Polls with another waker from now on.
    pub(crate) fn set_waker(&mut self, waker: Waker) {
        self.waker = waker;
    }

    /// Calls `poll`, and returns the jobs that it waits for.
    pub(crate) fn poll<R>(&self, poll: impl FnOnce(&Waker) -> R) -> (R, Vec<Job>) {
        self.jobs.borrow_mut().clear();
        let result = CURRENT.set(self, || poll(&self.waker));
        (result, self.jobs.take())
    }

    /// Makes the next poll of that job's handle fail, as the wait would never end.
    pub(crate) fn refuse(&self, job: JobId) {
        self.refused.set(Some(job));
    }

    /// The handle of a job is not ready.
    fn note(&self, job: Job) -> Result<(), Refused> {
        self.jobs.borrow_mut().push(job);
        if self.refused.get() != Some(job.id) {
            return Ok(());
        }
        self.refused.set(None);
        Err(Refused)
    }
}

/// Polls the handle of a job, with the waker that it must register.
///
/// # Errors
/// If the handle is not ready and the job must not be waited for.
pub(crate) fn poll_job<R>(
    context: &mut Context<'_>,
    job: Job,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Result<Poll<R>, Refused> {
    CURRENT.with(|polled| {
        let Some(polled) = polled.filter(|polled| polled.waker.will_wake(context.waker())) else {
            return Ok(poll(context));
        };
        let result = poll(&mut Context::from_waker(&polled.for_jobs));
        if result.is_pending() {
            polled.note(job)?;
        }
        Ok(result)
    })
}
