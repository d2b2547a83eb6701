//! The result of one job of a scope, on its way from the job to its handle.

use core::any::Any;
use core::fmt;
use core::future::{Future, poll_fn};
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
use crate::contain::drop_contained;
use crate::error::JoinError;
use crate::region::Region;

/// What a job and its handle share.
pub(super) struct Parcel<F, T> {
    content: Mutex<Content<F, T>>,
    latch: Latch,
}

struct Content<F, T> {
    stage: Stage<F, T>,
    /// Whether the handle is gone.
    is_detached: bool,
}

enum Stage<F, T> {
    /// A closure that has not started.
    Closure(F),
    /// A future that has not ended.
    Future,
    /// A closure that runs, or one or a future that is being dropped.
    Running,
    Done(Result<T, JoinError>),
    Taken,
}

/// The job's side; dropped without a result, it cancels the job.
pub(super) struct Runner<F: FnOnce() -> T, T>(Arc<Parcel<F, T>>);

/// The handle's side, for any closure.
trait Delivery<T> {
    /// Runs the closure on this thread if it has not started.
    fn run(&self);
    /// Drops the closure on this thread if it has not started.
    fn cancel(&self);
    fn latch(&self) -> &Latch;
    /// Takes the result, if there is one. Then, or if `detach`, there is no handle any more.
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
        let content = Mutex::new(Content { stage, is_detached: false });
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

    /// Notes that the future has been dropped, if it has not ended.
    fn abandon(&self) -> bool {
        let mut content = self.content.lock();
        let is_pending = matches!(content.stage, Stage::Future);
        if is_pending {
            content.stage = Stage::Running;
        }
        is_pending
    }

    /// Stores the result, or returns it if there is no handle; called once.
    fn finish(&self, result: Result<T, JoinError>) -> Option<Result<T, JoinError>> {
        let unclaimed = {
            let mut content = self.content.lock();
            let detached = content.is_detached;
            content.stage = Stage::Taken;
            if detached {
                Some(result)
            } else {
                content.stage = Stage::Done(result);
                None
            }
        };
        // SAFETY: Latch rule: both sides own the parcel; the side that claimed the closure sets it, once.
        unsafe { Latch::set(&raw const self.latch, true) };
        unclaimed
    }
}

/// Runs a closure; returns its result for the handle.
fn call<F: FnOnce() -> T, T>(closure: F) -> Result<T, JoinError> {
    panic::catch_unwind(AssertUnwindSafe(closure)).map_err(JoinError::panicked)
}

/// Resumes the panic of a job without a handle.
fn resume<T>(unclaimed: Option<Result<T, JoinError>>) {
    match unclaimed {
        Some(Err(JoinError::Panicked(panic))) => panic.resume(),
        other => drop_contained(other),
    }
}

impl<F: FnOnce() -> T, T> Delivery<T> for Parcel<F, T> {
    fn run(&self) {
        if let Some(closure) = self.claim() {
            resume(self.finish(call(closure)));
        }
    }

    fn cancel(&self) {
        if let Some(closure) = self.claim() {
            drop_contained(closure);
            drop_contained(self.finish(Err(JoinError::Cancelled)));
        }
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
    /// Runs the closure, unless its handle has begun to.
    pub(super) fn run(self) {
        self.0.run();
    }
}

impl<F: FnOnce() -> T, T> Drop for Runner<F, T> {
    fn drop(&mut self) {
        self.0.cancel();
        if self.0.abandon() {
            drop_contained(self.0.finish(Err(JoinError::Cancelled)));
        }
    }
}

/// Polls a future to its end and delivers its result.
pub(super) async fn deliver<F, C>(future: F, runner: Runner<C, F::Output>)
where
    F: Future,
    C: FnOnce() -> F::Output,
{
    let outcome: Result<F::Output, Box<dyn Any + Send>> = {
        let mut future = core::pin::pin!(future);
        poll_fn(|context| {
            match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                Err(payload) => Poll::Ready(Err(payload)),
            }
        })
        .await
    };
    resume(runner.0.finish(outcome.map_err(JoinError::panicked)));
}

/// A handle for the result of one job of a [`Scope`].
///
/// A handle that is dropped detaches the job, for which the scope still waits.
pub struct ScopedJoinHandle<'scope, T> {
    parcel: Arc<dyn Delivery<T> + Send + Sync + 'scope>,
    pool: &'scope dyn Scopes,
    state: &'scope State,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the job has ended and returns its result. A closure that has not started runs inside this call.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload of the job's panic; [`JoinError::Cancelled`] if the scope was cancelled, or the
    /// pool was discarded or has ended, before the job could.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let error = pool.scope(|s| s.submit(|| -> u32 { panic!("no such file") }).join().unwrap_err())?;
    /// assert_eq!(error.panic_message(), Some("no such file"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        if self.state.is_cancelled() {
            // Its job may be on the deque of this very thread, which does not take it there while it waits.
            self.parcel.cancel();
        } else {
            self.parcel.run();
        }
        let latch = self.parcel.latch();
        let region = Region(ptr::from_ref(latch).addr());
        wait(|| latch.is_set(), || self.pool.wait(Wait::without_parts(latch, region)));
        match self.parcel.take(true) {
            Some(result) => result,
            None => unreachable!("only the handle takes the result"),
        }
    }

    /// Whether the job has ended.
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
            Some(Err(JoinError::Panicked(panic))) => self.state.panicked(panic.into_payload()),
            other => drop_contained(other),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("is_finished", &self.is_finished()).finish()
    }
}
