//! The additions of an observed pool to a closure.

use core::any::Any;

use brigade_observe::{Watch, Watcher};
use brigade_task::{Job, Work};

use super::Receipt;
use super::queued::{Queued, Terms};
use crate::values::closure_of;

/// A closure queued in an observed pool. It is boxed, so that jobs with the same result type share the code, and no
/// closure is compiled a second time for observed pools.
pub(super) struct Watched<T: 'static, D> {
    /// First, so that it is dropped before the end of the job is reported.
    queued: Queued<Box<dyn Closure<T>>, D>,
    watch: Watch,
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

impl<T, D: Terms> Work for Watched<T, D> {
    type Output = T;

    fn may_start(&self) -> bool {
        self.queued.terms.may_start()
    }

    fn run(self) -> T {
        let Self { queued: Queued { permit, terms, work }, watch } = self;
        drop(permit);
        watch.run(|| terms.run(|| work.call()))
    }
}

impl<T, D> Watched<T, D> {
    pub(super) fn new<F>(watch: Watch, Queued { permit, terms, work }: Queued<F, D>) -> Self
    where
        F: FnOnce() -> T + Send + 'static,
    {
        Self { queued: Queued { permit, terms, work: Box::new(work) }, watch }
    }

    /// Returns the closure, which was not accepted.
    pub(super) fn withdraw<F: 'static>(self) -> F {
        let Self { queued, watch } = self;
        watch.withdraw();
        match queued.work.into_any().downcast() {
            Ok(closure) => *closure,
            Err(_) => unreachable!("it is the closure that was boxed"),
        }
    }
}

/// Makes a job and a receipt. The job is watched if there is a watcher.
pub(super) fn make<F, D, T, R>(watcher: Option<Watcher>, queued: Queued<F, D>) -> (Job, R)
where
    F: FnOnce() -> T + Send + 'static,
    T: 'static,
    D: Terms,
    R: Receipt<T>,
{
    match watcher {
        None => R::make(queued),
        Some(watcher) => R::make(Watched::new(watcher.begin(R::IS_HANDLE), queued)),
    }
}

/// Returns the closure of a rejected job made by [`make`].
pub(crate) fn unmade<F, D, T>(job: Job) -> F
where
    F: FnOnce() -> T + 'static,
    T: 'static,
    D: 'static,
{
    match job.into_closure::<Queued<F, D>>() {
        Ok(queued) => queued.work,
        Err(job) => closure_of::<Watched<T, D>>(job).withdraw(),
    }
}
