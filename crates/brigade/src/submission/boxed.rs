//! A closure with a name or a deadline, or of an observed pool.

use core::any::Any;

use brigade_observe::{Watch, Watcher};
use brigade_task::{Job, Work};

use super::queued::{Options, Queued};
use super::{Receipt, job_name};
use crate::engine::{Permit, label_job, now};
use crate::values::closure_of;

/// A closure with all additions. It is boxed, so that jobs with the same result type share the code, and no closure is
/// compiled a second time for them.
struct Boxed<T: 'static> {
    /// First, so that the permit is released before any user code runs, including the drop of the closure.
    permit: Option<Permit>,
    options: Options,
    work: Box<dyn Closure<T>>,
    /// Last, so that all else is dropped before the end of the job is reported; `None` if the pool is not observed.
    watch: Option<Watch>,
}

/// A closure of any type.
trait Closure<T>: Send {
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

impl<T> Work for Boxed<T> {
    type Output = T;

    fn may_start(&self) -> bool {
        self.options.deadline.is_none_or(|at| now() < at)
    }

    fn run(self) -> T {
        let Self { permit, options, work, watch } = self;
        drop(permit);
        let run = || {
            label_job(options.name.as_ref(), None);
            job_name::set(&options.name, || work.call())
        };
        match watch {
            None => run(),
            Some(watch) => watch.run(run),
        }
    }
}

/// Makes a job and a receipt of a closure that has a permit, or needs none. The job is watched if there is a watcher.
///
/// A closure with a handle is boxed in any case: the code that runs it and keeps its result is long, and compiled for each
/// type of closure that is not.
pub(crate) fn make_job<F, T, R>(
    watcher: Option<Watcher>,
    permit: Option<Permit>,
    options: Options,
    work: F,
) -> (Job, R)
where
    F: FnOnce() -> T + Send + 'static,
    T: 'static,
    R: Receipt<T>,
{
    if !R::IS_HANDLE && watcher.is_none() && !options.is_stored() {
        return R::make(Queued { permit, work });
    }
    let watch = watcher.map(|watcher| watcher.begin(R::IS_HANDLE));
    R::make(Boxed { permit, options, work: Box::new(work), watch })
}

/// Returns the closure of a rejected job made by [`make_job`].
pub(crate) fn unmade<F, T, R>(job: Job) -> F
where
    F: FnOnce() -> T + 'static,
    T: 'static,
    R: Receipt<T>,
{
    let queued = if R::IS_HANDLE { Err(job) } else { job.into_closure::<Queued<F>>() };
    let boxed = |job| {
        let Boxed::<T> { work, watch, .. } = closure_of(job);
        watch.into_iter().for_each(Watch::withdraw);
        let Ok(closure) = work.into_any().downcast() else { unreachable!("it was boxed") };
        *closure
    };
    queued.map_or_else(boxed, |queued| queued.work)
}
