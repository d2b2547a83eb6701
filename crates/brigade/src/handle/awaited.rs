//! The jobs awaited by the future of a [`block_on`](crate::block_on), if it waits only for jobs.
//!
//! A handle polled with the waker of the `block_on` registers a second waker with its job. So if the first waker has
//! no clones, only the end of a job can wake the thread. Each poll notes these jobs.

use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use brigade_task::{JobId, JoinError, JoinHandle};

use crate::engine::{BlockedThread, CURRENT, Key, Worker, with_processor};

brigade_sync::scoped_thread_local! {
    /// The poll running on this thread.
    static POLLED: Polled
}

/// The jobs awaited by a poll.
pub(crate) struct Polled {
    /// The waker passed to the future.
    waker: Waker,
    /// The waiting thread, and its waker, which handles register with their jobs instead.
    thread: Arc<BlockedThread>,
    for_jobs: Waker,
    jobs: RefCell<Vec<JobId>>,
    /// A job that the poll must not wait for.
    refused: Cell<Option<JobId>>,
    /// The state of an awaited future: `Queued` if any awaited future is queued.
    future: Cell<Option<State>>,
    /// Whether an awaited job is outside the pool of this thread's worker.
    foreign: Cell<bool>,
}

/// The state of a future whose handle has been polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The future waits, or is being polled.
    Waits,
    /// The future waits for the next poll.
    Queued,
}

/// The error for a handle whose wait would never end.
pub(crate) struct Refused;

impl Polled {
    /// Polls use `waker`, and handles register the waiting thread instead.
    pub(crate) fn new(waker: Waker, thread: Arc<BlockedThread>) -> Self {
        Self {
            waker,
            for_jobs: thread.clone().into(),
            thread,
            jobs: RefCell::default(),
            refused: Cell::new(None),
            future: Cell::new(None),
            foreign: Cell::new(false),
        }
    }

    /// Uses `waker` from the next poll on.
    pub(crate) fn set_waker(&mut self, waker: Waker) {
        self.waker = waker;
    }

    /// Calls `poll`, and returns the result with the awaited jobs.
    pub(crate) fn poll<R>(&self, poll: impl FnOnce(&Waker) -> R) -> (R, Vec<JobId>) {
        self.jobs.borrow_mut().clear();
        let result = POLLED.set(self, || poll(&self.waker));
        (result, self.jobs.take())
    }

    /// Makes the next poll of that job's handle fail, because the wait would never end.
    pub(crate) fn refuse(&self, job: JobId) {
        self.refused.set(Some(job));
    }

    /// Whether the last polls have waited only for handles of the pool of this thread's worker.
    pub(crate) fn takes_own(&self) -> bool {
        !self.foreign.take()
    }

    /// Takes the state of a future awaited by the last polls.
    pub(crate) fn take_future(&self) -> Option<State> {
        self.future.take()
    }

    /// Notes a handle that is not ready.
    fn note(&self, pool: Key, job: JobId, future: Option<State>) -> Result<(), Refused> {
        self.jobs.borrow_mut().push(job);
        let is_own = with_processor(|own| own.is_some_and(|own| own.is_of(pool)));
        self.foreign.set(self.foreign.get() || !is_own);
        if self.future.get() != Some(State::Queued) && future.is_some() {
            self.future.set(future);
        }
        if self.refused.get() != Some(job) {
            return Ok(());
        }
        self.refused.set(None);
        Err(Refused)
    }
}

/// The thread whose `block_on` polls, if it is a worker's.
pub(crate) fn polling_thread() -> Option<Arc<BlockedThread>> {
    POLLED.with(|polled| polled.map(|polled| polled.thread.clone()))
}

/// Calls `run`, which polls the future of a handle, if a `block_on` on a worker polls the handle with this context.
pub(crate) fn run_awaited(context: &Context<'_>, run: impl FnOnce(&Worker)) {
    POLLED.with(|polled| {
        if polled.is_some_and(|polled| polled.waker.will_wake(context.waker())) {
            CURRENT.with(|worker| _ = worker.map(run));
        }
    });
}

/// Polls the handle of a job of `pool`, with the waker to register.
///
/// # Errors
/// If the handle is not ready and the job must not be waited for.
pub(crate) fn poll_job<T>(
    context: &mut Context<'_>,
    pool: Key,
    job: &mut JoinHandle<T>,
) -> Result<Poll<Result<T, JoinError>>, Refused> {
    POLLED.with(|polled| {
        let Some(polled) = polled.filter(|polled| polled.waker.will_wake(context.waker())) else {
            return Ok(Pin::new(job).poll(context));
        };
        let result = Pin::new(&mut *job).poll(&mut Context::from_waker(&polled.for_jobs));
        if result.is_pending() {
            let state = || if job.is_queued() { State::Queued } else { State::Waits };
            polled.note(pool, job.id(), job.is_of_future().then(state))?;
        }
        Ok(result)
    })
}
