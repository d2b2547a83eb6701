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

use crate::engine::{BlockedThread, Key, Worker, owns, with_member};

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
    /// The notes of the polls since this was last taken.
    pub(crate) noted: Cell<Noted>,
}

/// The notes of polls about the awaited jobs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Noted {
    /// The state of an awaited future: `Queued` if any awaited future is queued.
    pub(crate) future: Option<WaitState>,
    /// The pool of the first job.
    pool: Option<Key>,
    /// Whether another job is of another pool.
    is_mixed: bool,
    /// The last pool among them whose worker this thread may be, and is not at the moment.
    pub(crate) owned: Option<Key>,
}

impl Noted {
    /// The pool of all awaited jobs.
    pub(crate) fn pool(self) -> Option<Key> {
        if self.is_mixed { None } else { self.pool }
    }
}

/// The state of a future whose handle has been polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitState {
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
            noted: Cell::default(),
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

    /// Notes a handle that is not ready.
    fn note(&self, pool: Key, job: JobId, future: Option<WaitState>) -> Result<(), Refused> {
        self.jobs.borrow_mut().push(job);
        let mut noted = self.noted.get();
        match noted.pool {
            Some(first) => noted.is_mixed |= first != pool,
            None => noted.pool = Some(pool),
        }
        if noted.future != Some(WaitState::Queued) && future.is_some() {
            noted.future = future;
        }
        self.noted.set(noted);
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
pub(crate) fn run_awaited(context: &Context<'_>, run: &mut dyn FnMut(&Worker)) {
    POLLED.with(|polled| match polled {
        Some(polled) if polled.waker.will_wake(context.waker()) => {
            with_member(|worker| _ = worker.map(run));
        }
        _ => {}
    });
}

/// Notes that the poll of a `block_on` on this thread waits for a job of `pool`, which the wait must run if the thread owns
/// it.
pub(crate) fn note_pool(pool: Key) {
    POLLED.with(|polled| match polled {
        Some(polled) if pool.if_threadless().is_some() || owns(pool) => {
            polled.noted.set(Noted { owned: Some(pool), ..polled.noted.get() });
        }
        _ => {}
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
        let (polled, waker) = match polled {
            Some(own) if own.waker.will_wake(context.waker()) => (polled, &own.for_jobs),
            _ => (None, context.waker()),
        };
        let result = Pin::new(&mut *job).poll(&mut Context::from_waker(waker));
        if result.is_pending() {
            note_pool(pool);
            if let Some(polled) = polled {
                let state = || if job.is_queued() { WaitState::Queued } else { WaitState::Waits };
                polled.note(pool, job.id(), job.is_of_future().then(state))?;
            }
        }
        Ok(result)
    })
}
