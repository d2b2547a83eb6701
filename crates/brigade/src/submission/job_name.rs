//! The name of the job running on a thread.

use std::borrow::Cow;

use brigade_sync::call_user;
use brigade_task::{Attachment, attach, panic_as};

use crate::engine::label_job;

/// A name, while its job runs.
struct Name<'a>(&'a str);

impl Attachment for Name<'_> {
    fn name(&self) -> Option<&str> {
        Some(self.0)
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

/// Runs a job, which has the name if `name` is `Some`, and so have its panic and its place in a trace.
pub(crate) fn set<R>(name: &Option<Cow<'static, str>>, call: impl FnOnce() -> R) -> R {
    let Some(name) = name else { return call() };
    label_job(Some(name), None);
    panic_as(name, || attach(&Name(name), || call_user(call)))
}
