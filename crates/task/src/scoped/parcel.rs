//! The result of a scope's job, on its way from the job to the handle.

use core::any::Any;
use core::fmt;
use core::future::poll_fn;
use core::mem;
use core::ptr;
use core::task::Poll;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::Mutex;

use super::fork::Wait;
use super::latch::Latch;
use super::scope::{Scope, Scopes, State};
use super::wait;
use crate::act::Outcome;
use crate::contain::drop_contained;
use crate::error::JoinError;
use crate::region::Region;
use crate::spawnable::Spawnable;

/// The state shared by a job and its handle.
pub(super) struct Parcel<F, T> {
    content: Mutex<Content<F, T>>,
    latch: Latch,
}

struct Content<F, T> {
    stage: Stage<F, T>,
    /// Whether the handle is gone.
    is_detached: bool,
    /// Whether the job has ended and left the outcome to be counted by the handle, which runs the closure.
    is_left: bool,
    /// The outcome of the closure or the future, once ended.
    ended: Option<Outcome>,
}

enum Stage<F, T> {
    /// A closure that has not started.
    Closure(F),
    /// A future that has not ended.
    Future,
    /// A running closure, or a closure or a future being dropped.
    Running,
    Done(Result<T, JoinError>),
    Taken,
}

/// The job's side. Dropping it without a result cancels the job.
pub(super) struct Runner<F: FnOnce() -> T, T>(Arc<Parcel<F, T>>);

/// The handle's side, for any closure.
trait Delivery<T> {
    /// Runs the closure on this thread if it has not started. Returns the outcome if the job has ended meanwhile
    /// without counting it.
    fn run(&self) -> Option<Outcome>;
    /// Drops the closure on this thread if it has not started. Returns the outcome as `run` does.
    fn cancel(&self) -> Option<Outcome>;
    fn latch(&self) -> &Latch;
    /// Takes the result, if any. With `detach`, the handle no longer exists afterwards.
    fn take(&self, detach: bool) -> Option<Result<T, JoinError>>;
}

impl<F: FnOnce() -> T, T> Parcel<F, T> {
    pub(super) fn of_closure<'scope>(
        closure: F,
        scope: &'scope Scope<'scope, '_>,
    ) -> (Runner<F, T>, ScopedJoinHandle<'scope, T>)
    where
        F: Send + 'scope,
        T: Send + 'scope,
    {
        Self::with(Stage::Closure(closure), scope)
    }

    pub(super) fn of_future<'scope>(
        scope: &'scope Scope<'scope, '_>,
    ) -> (Runner<F, T>, ScopedJoinHandle<'scope, T>)
    where
        F: Send + 'scope,
        T: Send + 'scope,
    {
        Self::with(Stage::Future, scope)
    }

    fn with<'scope>(
        stage: Stage<F, T>,
        scope: &'scope Scope<'scope, '_>,
    ) -> (Runner<F, T>, ScopedJoinHandle<'scope, T>)
    where
        F: Send + 'scope,
        T: Send + 'scope,
    {
        let content =
            Mutex::new(Content { stage, is_detached: false, is_left: false, ended: None });
        let parcel = Arc::new(Self { content, latch: Latch::new() });
        let handle =
            ScopedJoinHandle { parcel: parcel.clone(), pool: scope.pool(), state: scope.state() };
        (Runner(parcel), handle)
    }

    /// Takes the closure if it has not started.
    fn claim(&self) -> Option<F> {
        let mut content = self.content.lock();
        match mem::replace(&mut content.stage, Stage::Running) {
            Stage::Closure(closure) => Some(closure),
            other => {
                content.stage = other;
                None
            }
        }
    }

    /// Marks an unfinished future as dropped, and returns whether it was unfinished.
    fn abandon(&self) -> bool {
        let mut content = self.content.lock();
        let is_pending = matches!(content.stage, Stage::Future);
        if is_pending {
            content.stage = Stage::Running;
        }
        is_pending
    }

    /// Stores the result, or returns it if there is no handle. Called once. Also returns the outcome, and whether the
    /// job has left the outcome to be counted.
    fn finish(&self, result: Result<T, JoinError>) -> Finished<T> {
        let outcome = match &result {
            Ok(_) => Outcome::Returned,
            Err(JoinError::Panicked(_)) => Outcome::Panicked,
            Err(_) => Outcome::Cancelled,
        };
        let (unclaimed, is_left) = {
            let mut content = self.content.lock();
            content.stage = Stage::Taken;
            content.ended = Some(outcome);
            let unclaimed = if content.is_detached {
                Some(result)
            } else {
                content.stage = Stage::Done(result);
                None
            };
            (unclaimed, content.is_left)
        };
        // SAFETY: Latch rule: both sides own the parcel; the side that claimed the closure sets the latch, once.
        unsafe { Latch::set(&raw const self.latch, true) };
        Finished { unclaimed, outcome, is_left }
    }

    /// Returns the outcome for a job whose closure was taken by the handle: `Stale` if the closure has not ended,
    /// because the handle counts it.
    fn leave(&self) -> Outcome {
        let mut content = self.content.lock();
        content.is_left = content.ended.is_none();
        content.ended.unwrap_or(Outcome::Stale)
    }
}

/// The work left once a result has been stored.
struct Finished<T> {
    /// The result, if there is no handle.
    unclaimed: Option<Result<T, JoinError>>,
    outcome: Outcome,
    /// Whether the job has ended without counting the outcome.
    is_left: bool,
}

impl<T> Finished<T> {
    /// Returns the outcome, if it has not been counted.
    fn uncounted(&self) -> Option<Outcome> {
        self.is_left.then_some(self.outcome)
    }

    /// Resumes the panic of a job without a handle. Returns the outcome if there is no such panic.
    fn resume(self) -> Outcome {
        match self.unclaimed {
            Some(Err(JoinError::Panicked(panic))) => panic.resume(),
            other => drop_contained(other),
        }
        self.outcome
    }
}

/// Runs a closure, and returns the result for the handle.
fn call<F: FnOnce() -> T, T>(closure: F) -> Result<T, JoinError> {
    panic::catch_unwind(AssertUnwindSafe(closure)).map_err(JoinError::panicked)
}

impl<F: FnOnce() -> T, T> Delivery<T> for Parcel<F, T> {
    fn run(&self) -> Option<Outcome> {
        // There is a handle, so the result is stored.
        self.claim().and_then(|closure| self.finish(call(closure)).uncounted())
    }

    fn cancel(&self) -> Option<Outcome> {
        let closure = self.claim()?;
        drop_contained(closure);
        self.finish(Err(JoinError::Cancelled)).uncounted()
    }

    fn latch(&self) -> &Latch {
        &self.latch
    }

    fn take(&self, detach: bool) -> Option<Result<T, JoinError>> {
        let mut content = self.content.lock();
        content.is_detached |= detach;
        match mem::replace(&mut content.stage, Stage::Taken) {
            Stage::Done(result) => Some(result),
            other => {
                content.stage = other;
                None
            }
        }
    }
}

impl<F: FnOnce() -> T, T> Runner<F, T> {
    /// Runs the closure, unless the handle has taken it. Returns the outcome of the job.
    ///
    /// # Panics
    /// If the closure panics, and there is no handle.
    pub(super) fn run(self) -> Outcome {
        match self.0.claim() {
            Some(closure) => self.0.finish(call(closure)).resume(),
            None => self.0.leave(),
        }
    }
}

impl<F: FnOnce() -> T, T> Drop for Runner<F, T> {
    fn drop(&mut self) {
        self.0.cancel();
        if self.0.abandon() {
            self.0.finish(Err(JoinError::Cancelled));
        }
    }
}

/// Polls a future to its end and delivers the result. Returns the outcome, or panics if the future panicked and has
/// no handle.
pub(super) async fn deliver<F, C>(future: F, runner: Runner<C, F::Output>) -> Outcome
where
    F: Spawnable,
    C: FnOnce() -> F::Output,
{
    let outcome: Result<F::Output, Box<dyn Any + Send>> = {
        let mut future = core::pin::pin!(future);
        poll_fn(|context| {
            match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll_spawned(context))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                Err(payload) => Poll::Ready(Err(payload)),
            }
        })
        .await
    };
    runner.0.finish(outcome.map_err(JoinError::panicked)).resume()
}

/// A handle for the result of a job of a [`Scope`].
///
/// Dropping the handle detaches the job, for which the scope still waits.
pub struct ScopedJoinHandle<'scope, T> {
    parcel: Arc<dyn Delivery<T> + Send + Sync + 'scope>,
    pool: &'scope dyn Scopes,
    state: &'scope State,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the job has ended and returns the result. A closure that has not started runs inside this call.
    ///
    /// A started job, or a future, is waited for as at the end of the scope. Unlike the `join` of other handles, this
    /// does not fail if all other threads of the pool wait: the last thread runs any job of the pool meanwhile, up to
    /// 64 waits deep. Beyond that depth, it only polls timers and I/O: a future that is queued, or waits for a queued
    /// job, never ends then.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload of the job's panic; [`JoinError::Cancelled`] if the scope was
    /// cancelled, or the pool was discarded or has ended, before the job ran or the future was ready.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let error = pool.scope(|s| s.submit(|| -> u32 { panic!("no such file") }).join().unwrap_err())?;
    /// assert_eq!(error.panic_message(), Some("no such file"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        // While this thread panics, the closure does not run here: it would see a panic not its own.
        if self.state.is_cancelled() {
            // The job may be on this thread's own deque, from which the thread does not take it while it waits.
            self.pool.run_here(&mut || self.parcel.cancel());
        } else if !std::thread::panicking() {
            self.pool.run_here(&mut || self.parcel.run());
        }
        let latch = self.parcel.latch();
        let region = Region(ptr::from_ref(latch).addr());
        wait(|| latch.is_set(), || self.pool.wait(Wait::without_parts(latch, region)));
        match self.parcel.take(true) {
            Some(result) => result,
            None => unreachable!("only the handle takes the result"),
        }
    }

    /// Returns whether the job has ended.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// pool.scope(|s| {
    ///     let job = s.submit(|| 42);
    ///     while !job.is_finished() {
    ///         std::thread::yield_now();
    ///         # break;
    ///     }
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_finished(&self) -> bool {
        self.parcel.latch().is_set()
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    fn drop(&mut self) {
        match self.parcel.take(true) {
            Some(Err(JoinError::Panicked(panic))) => _ = self.state.panicked(panic.into_payload()),
            other => drop_contained(other),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("is_finished", &self.is_finished()).finish()
    }
}
