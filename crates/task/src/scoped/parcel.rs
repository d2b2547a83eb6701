//! The result of a scope's job, on its way from the job to the handle.

use core::mem;
use core::ptr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::{Mutex, call_user};

use super::fork::Wait;
use super::latch::Latch;
use super::scope::{Scope, ScopedWork, Scopes, State};
use super::wait_by;
use crate::act::Outcome;
use crate::cause::Cause;
use crate::contain::drop_contained;
use crate::error::JoinError;
use crate::join::JoinHandle;
use crate::region::Region;

/// The state shared by a job and the handle.
pub(super) struct Parcel<F, T> {
    content: Mutex<Content<F, T>>,
    latch: Latch,
}

/// The state shared by a future and the handle.
pub(super) type FutureParcel<T> = Parcel<fn() -> T, T>;

struct Content<F, T> {
    stage: Stage<F, T>,
    /// Whether the handle is gone.
    is_detached: bool,
}

enum Stage<F, T> {
    /// An unstarted closure.
    Closure(F),
    /// An unfinished future, a running closure, or a closure or a future being dropped.
    Running,
    Done(Result<T, JoinError>),
    Taken,
}

/// The handle's side, for any closure.
trait Delivery<T> {
    /// Runs the closure on this thread, or drops it for the cause `stop`; returns the outcome. `None` if it has started, or is a
    /// future.
    fn settle(&self, stop: Option<Cause>) -> Option<Outcome>;
    fn latch(&self) -> &Latch;
    /// Takes the result, if any. The handle no longer exists afterwards.
    fn take(&self) -> Option<Result<T, JoinError>>;
}

impl<F: FnOnce() -> T, T> Parcel<F, T> {
    /// The parcel of a closure, or of a future.
    pub(super) fn new<'scope>(
        closure: Option<F>,
        scope: &'scope Scope<'scope, '_>,
    ) -> (Arc<Self>, ScopedJoinHandle<'scope, T>)
    where
        F: Send + 'scope,
        T: Send + 'scope,
    {
        let stage = closure.map_or(Stage::Running, Stage::Closure);
        let content = Mutex::new(Content { stage, is_detached: false });
        let parcel = Arc::new(Self { content, latch: Latch::new() });
        let (pool, state) = (scope.pool(), scope.state());
        (parcel.clone(), ScopedJoinHandle { parcel, future: None, pool, state })
    }

    /// Delivers the result to the handle, once. Returns the outcome of the job.
    ///
    /// # Panics
    /// If the job has panicked, and there is no handle.
    pub(super) fn finish(&self, result: Result<T, JoinError>) -> Outcome {
        let outcome = Outcome::of(&result);
        let unclaimed = {
            let mut content = self.content.lock();
            let is_detached = content.is_detached;
            let (stage, unclaimed) = if is_detached {
                (Stage::Taken, Some(result))
            } else {
                (Stage::Done(result), None)
            };
            content.stage = stage;
            unclaimed
        };
        // SAFETY: Latch rule: both sides own the parcel; the claiming side sets the latch, once.
        unsafe { Latch::set(&raw const self.latch, true) };
        match unclaimed {
            Some(Err(JoinError::Panicked(panic))) => panic.resume(),
            other => drop_contained(other),
        }
        outcome
    }
}

impl<F: FnOnce() -> T, T> Delivery<T> for Parcel<F, T> {
    fn settle(&self, stop: Option<Cause>) -> Option<Outcome> {
        let closure = {
            let mut content = self.content.lock();
            match mem::replace(&mut content.stage, Stage::Running) {
                Stage::Closure(closure) => closure,
                other => {
                    content.stage = other;
                    return None;
                }
            }
        };
        if let Some(cause) = stop {
            drop_contained(closure);
            return Some(self.finish(Err(JoinError::Cancelled(cause))));
        }
        let result = panic::catch_unwind(AssertUnwindSafe(|| call_user(closure)));
        Some(self.finish(result.map_err(JoinError::panicked)))
    }

    fn latch(&self) -> &Latch {
        &self.latch
    }

    fn take(&self) -> Option<Result<T, JoinError>> {
        let mut content = self.content.lock();
        content.is_detached = true;
        match mem::replace(&mut content.stage, Stage::Taken) {
            Stage::Done(result) => Some(result),
            other => {
                content.stage = other;
                None
            }
        }
    }
}

impl<F: FnOnce() -> T + Send, T: Send> ScopedWork for Arc<Parcel<F, T>> {
    fn run(self) -> Outcome {
        // The handle counts the outcome of a closure it has taken.
        self.settle(None).unwrap_or(Outcome::Stale)
    }

    fn cancel(self, cause: Cause) -> Outcome {
        self.settle(Some(cause)).unwrap_or(Outcome::Stale)
    }

    fn is_stale(&self) -> bool {
        !matches!(self.content.lock().stage, Stage::Closure(_))
    }
}

/// A handle for the result of a job of a [`Scope`].
///
/// Dropping the handle detaches the job, for which the scope still waits.
pub struct ScopedJoinHandle<'scope, T> {
    parcel: Arc<dyn Delivery<T> + Send + Sync + 'scope>,
    /// The pool's handle for a future.
    pub(super) future: Option<JoinHandle<()>>,
    pool: &'scope dyn Scopes,
    state: &'scope State,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the job has ended and returns the result. An unstarted closure runs inside this call, and on
    /// a worker of the scope's pool a woken future is polled there.
    ///
    /// A started job, or a future, is waited for as at the end of the scope. Unlike the `join` of other handles, this
    /// does not detect a cycle of waits: the wait then never ends.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload of the job's panic; [`JoinError::Cancelled`] if the scope was
    /// cancelled before the job ran, or the scope was cancelled or the pool was discarded or has ended before the future
    /// was ready.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let error = pool.scope(|s| s.submit(|| -> u32 { panic!("no such file") }).join().unwrap_err())?;
    /// assert_eq!(error.panic_message(), Some("no such file"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join(mut self) -> Result<T, JoinError> {
        if let Some(future) = &mut self.future {
            self.pool.wait_for_future(future);
        }
        // While this thread panics, the closure does not run here: it would see a foreign panic. The closure of a cancelled scope
        // is dropped: the job may be on this thread's own deque, from which the thread does not take it while it waits.
        let is_cancelled = self.state.is_cancelled();
        if is_cancelled || !std::thread::panicking() {
            let stop = is_cancelled.then_some(Cause::Asked);
            self.pool.run_here(&mut || self.parcel.settle(stop));
        }
        let latch = self.parcel.latch();
        let region = Region(ptr::from_ref(latch).addr());
        wait_by(Wait::without_parts(latch, region), |wait| self.pool.wait(wait));
        match self.parcel.take() {
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
        match self.parcel.take() {
            Some(Err(JoinError::Panicked(panic))) => _ = self.state.panicked(panic.into_payload()),
            other => drop_contained(other),
        }
    }
}

brigade_sync::opaque!([T] ScopedJoinHandle<'_, T>: is_finished);
