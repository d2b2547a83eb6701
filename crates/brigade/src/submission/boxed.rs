//! A closure of a bounded or observed pool, or with a name, values or a deadline.
//!
//! It is boxed at the beginning of the slow path, so that all closures with the same result type share the code behind.

use core::any::Any;
use std::time::Instant;

use brigade_sync::call_user;
use brigade_task::{Cause, Job, Work};

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

/// A closure with all additions.
struct Boxed<T: 'static> {
    /// First, so that the permit is released before any user code runs, including the drop of the closure.
    permit: Option<Permit>,
    deadline: Option<Instant>,
    work: Carrying<Box<dyn Closure<T>>>,
    /// Last, so that all else is dropped before the end of the job is reported.
    watch: Watch,
}

impl<T> Work for Boxed<T> {
    type Output = T;

    fn may_start(&self) -> Result<(), Cause> {
        let is_late = self.deadline.is_some_and(|at| at <= now()) || self.work.is_late();
        if is_late { Err(Cause::Deadline) } else { Ok(()) }
    }

    fn run(self) -> T {
        let Self { permit, mut work, watch, .. } = self;
        drop(permit);
        watch.run(move || {
            work.run(|work| {
                let Some(work) = work.take() else { unreachable!("it runs once") };
                call_user(|| work.call())
            })
        })
    }
}

/// Makes a job and a receipt of a closure that has a permit, or needs none. Must be called on the submitting thread.
pub(crate) fn make_job<R: Receipt>(
    watcher: Watcher,
    permit: Option<Permit>,
    mut options: Options,
    work: Box<dyn Closure<R::Output>>,
) -> (Job, R) {
    options.carried.inherit();
    // A handle keeps more than a `Queued` in any case.
    let (job, receipt) = if !R::IS_HANDLE && !watcher.watches() && !options.is_stored() {
        R::make(Queued { permit, work })
    } else {
        let Options { deadline, carried, .. } = options;
        let (work, watch) = (Carrying::new(carried, work), watcher.begin(R::IS_HANDLE));
        R::make(Boxed { permit, deadline, work, watch })
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
