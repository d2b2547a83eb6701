//! A closure of a bounded or observed pool, or with a name, values or a deadline.
//!
//! It is boxed at the beginning of the slow path, so that all closures with the same result type share the code behind.

use core::any::Any;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::{Mutex, call_user};
use brigade_task::{Attachment, Cause, Job, Work, attach};

use super::options::Options;
use super::{Carrying, Receipt};
use crate::engine::{Permit, now};
use crate::values::{Rejected, Watch, Watcher, closure_of};

/// A closure of any type.
pub(crate) trait Closure<T>: Send {
    fn call(self: Box<Self>) -> T;

    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<F: FnOnce() -> T + Send + 'static, T> Closure<T> for F {
    fn call(self: Box<Self>) -> T {
        self()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Returns a rejected closure as its own type.
#[inline(always)]
pub(crate) fn unbox<F: 'static, T>(work: Box<dyn Closure<T>>) -> F {
    let Ok(closure) = work.into_any().downcast() else { unreachable!("it was boxed") };
    *closure
}

/// Like [`unbox`], as the error of a verb: only this frame has room for the closure, and no caller's.
pub(crate) fn returned<F: 'static, R, T>(
    rejected: Rejected<Box<dyn Closure<T>>>,
) -> Result<R, Rejected<F>> {
    Err(rejected.map(unbox))
}

/// A closure with a permit, or none, and without other additions. It fits in a job.
struct Queued<T: 'static> {
    /// First, so that the permit is released before any user code runs, including the drop of the closure.
    permit: Option<Permit>,
    work: Box<dyn Closure<T>>,
}

impl<T> Work for Queued<T> {
    type Output = T;

    fn run(self) -> T {
        let Self { permit, work } = self;
        drop(permit);
        call_user(|| work.call())
    }
}

/// The deadline that a job has from its set, by the clock of its pool. The owner of the set may change it, and takes it away with the
/// job's removal.
#[derive(Debug)]
pub(crate) struct Until(Mutex<Option<Instant>>);

impl Until {
    pub(crate) fn new(at: Instant) -> Self {
        Self(Mutex::new(Some(at)))
    }

    pub(crate) fn set(&self, at: Option<Instant>) {
        *self.0.lock() = at;
    }

    /// Never waits: while the owner changes it, it is not over. In a forked child the lock may be held forever.
    fn is_over(&self) -> bool {
        let at = self.0.try_lock().and_then(|at| *at);
        at.is_some_and(|at| at <= now())
    }
}

impl Attachment for Until {
    fn must_stop(&self) -> bool {
        self.is_over()
    }
}

/// A closure with all additions.
struct Boxed<T: 'static> {
    /// First, so that the permit is released before any user code runs, including the drop of the closure.
    permit: Option<Permit>,
    deadline: Option<Instant>,
    until: Option<Arc<Until>>,
    work: Carrying<Box<dyn Closure<T>>>,
    /// Last, so that all else is dropped before the end of the job is reported.
    watch: Watch,
}

impl<T> Work for Boxed<T> {
    type Output = T;

    fn may_start(&self) -> Result<(), Cause> {
        let is_late = self.deadline.is_some_and(|at| at <= now())
            || self.until.as_ref().is_some_and(|until| until.is_over());
        if is_late { Err(Cause::Deadline) } else { Ok(()) }
    }

    fn run(self) -> T {
        let Self { permit, until, mut work, watch, .. } = self;
        drop(permit);
        let mut run = move || {
            work.run(|work| {
                let Some(work) = work.take() else { unreachable!("it runs once") };
                call_user(|| work.call())
            })
        };
        watch.run(move || match until {
            Some(until) => attach(&*until, run),
            None => run(),
        })
    }
}

/// Makes a job and a receipt of a closure that has a permit, or needs none. Must be called on the submitting thread.
pub(crate) fn make_job<R: Receipt>(
    watcher: Watcher,
    permit: Option<Permit>,
    mut options: Options,
    until: Option<Arc<Until>>,
    work: Box<dyn Closure<R::Output>>,
) -> (Job, R) {
    options.carried.inherit();
    // A handle keeps more than a `Queued` in any case.
    let is_bare = !watcher.watches() && !options.is_stored() && until.is_none();
    let (job, receipt) = if !R::IS_HANDLE && is_bare {
        R::make(Queued { permit, work })
    } else {
        let Options { deadline, carried, .. } = options;
        let (work, watch) = (Carrying::new(carried, work), watcher.begin(R::IS_HANDLE));
        R::make(Boxed { permit, deadline, until, work, watch })
    };
    (job.into(), receipt)
}

/// Returns the closure of a rejected job made by [`make_job`].
pub(crate) fn unmade<T: 'static>(job: Job) -> Box<dyn Closure<T>> {
    let boxed = |job| {
        let Boxed { mut work, watch, .. } = closure_of(job);
        watch.withdraw();
        let Some(work) = work.take() else { unreachable!("it has not run") };
        work
    };
    job.into_closure().map_or_else(boxed, |Queued { work, .. }| work)
}
