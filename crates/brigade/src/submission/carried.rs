//! The name of a job, and the values that follow the job.

use core::mem;
use std::borrow::Cow;
use std::sync::Arc;

use brigade_sync::call_user;
use brigade_task::{
    Attachment, Values, attach, drop_contained, job_values, may_have_job_values, panic_as,
};

use crate::engine::{label_job, with_worker};

/// The name and the values of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) values: Values,
}

impl Attachment for Carried {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn values(&self) -> Option<&Values> {
        if self.values.is_empty() { None } else { Some(&self.values) }
    }

    fn enter(&self, call: &mut dyn FnMut()) {
        with_worker(|own| match own {
            Some(own) if !self.values.is_empty() => own.close_during(call),
            _ => call(),
        });
    }
}

impl Carried {
    /// The values of the calling thread's job.
    pub(crate) fn here() -> Self {
        Self { name: None, values: job_values() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.name.is_none() && self.values.is_empty()
    }

    /// Adds a value.
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, value: T) {
        self.values = mem::take(&mut self.values).with(value);
    }

    /// Adds the values of the calling thread's job, which submits a job with these.
    #[inline]
    pub(crate) fn inherit(&mut self) {
        if may_have_job_values() {
            self.values = mem::take(&mut self.values).over(job_values());
        }
    }

    /// Calls a closure as the job, or a part of it.
    pub(crate) fn attach(&self, call: &mut dyn FnMut()) {
        if self.is_empty() { call() } else { attach(self, || self.enter(call)) }
    }

    /// Runs the job, whose panic and place in a trace have the name.
    pub(crate) fn run<R>(&self, call: impl FnOnce() -> R) -> R {
        if self.is_empty() {
            return call();
        }
        let (mut call, mut result) = (Some(call), None);
        self.run_attached(&mut || result = call.take().map(|call| call()));
        let Some(result) = result else { unreachable!("it has been called") };
        result
    }

    fn run_attached(&self, call: &mut dyn FnMut()) {
        let mut run = || self.attach(&mut || call_user(&mut *call));
        match &self.name {
            Some(name) => {
                label_job(Some(name), None);
                panic_as(name, run);
            }
            None => run(),
        }
    }
}

/// The work of a job. Its drop sees the values.
pub(crate) struct Carrying<W> {
    carried: Carried,
    /// `None` once it has run, or is dropped.
    work: Option<W>,
}

impl<W> Carrying<W> {
    pub(crate) fn new(carried: Carried, work: W) -> Self {
        Self { carried, work: Some(work) }
    }

    /// Runs the job.
    pub(crate) fn run<R>(&mut self, call: impl FnOnce(&mut Option<W>) -> R) -> R {
        let Self { carried, work } = self;
        carried.run(|| call(work))
    }

    /// Drops the work, and contains a panic.
    pub(crate) fn drop_contained(mut self) {
        if self.carried.values.is_empty() {
            // Does nothing for most closures.
            drop_contained(self.work.take());
        } else {
            drop_contained(self);
        }
    }

    /// Takes the work of a job that has not run.
    pub(crate) fn take(&mut self) -> Option<W> {
        self.work.take()
    }
}

impl<W> Drop for Carrying<W> {
    fn drop(&mut self) {
        let Self { carried, work } = self;
        if !carried.values.is_empty() && work.is_some() {
            carried.attach(&mut || *work = None);
        }
    }
}

/// Returns the name of the job running on this thread, if the job has a [name](crate::JobBuilder::name). Forks,
/// jobs of a [`Scope`](crate::Scope) and [installed](crate::Handle::install) calls are part of the job waiting for
/// them, on any thread.
///
/// A panic hook may call it to say which job panicked.
///
/// ```
/// let pool = brigade::Pool::new(1);
/// let name = pool.job().name("thumbnail").submit(brigade::current_job_name)?;
/// assert_eq!(name.join()?.as_deref(), Some("thumbnail"));
/// assert_eq!(brigade::current_job_name(), None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn current_job_name() -> Option<String> {
    brigade_task::job_name()
}

/// Returns the value of a type that follows the job running on this thread: a value given to the job by
/// [`with`](crate::JobBuilder::with), or inherited from the job that submitted it.
///
/// A panic hook may call it. Of several values of the type, it is the value given last. See [`with`](crate::JobBuilder::with) for the code that
/// sees a value.
///
/// ```
/// use brigade::{Pool, inherited};
/// struct Request(u32);
/// let pool = Pool::new(2);
/// let handle = pool.handle();
/// let inner = || inherited::<Request>().map(|request| request.0);
/// let outer = pool.job().with(Request(7)).submit(move || handle.submit(inner))?;
/// assert_eq!(outer.join()?.join()?, Some(7));
/// assert!(inherited::<Request>().is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn inherited<T: Send + Sync + 'static>() -> Option<Arc<T>> {
    brigade_task::inherited()
}
