//! The name of the job that a thread runs.

use std::borrow::Cow;

brigade_sync::scoped_thread_local! {
    /// The name of the innermost job, if it has one.
    static NAME: Option<Cow<'static, str>>
}

/// Returns the name of the job that this thread runs, if it was [given one](crate::JobBuilder::name).
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
    NAME.with(|name| name.and_then(|name| name.as_deref().map(String::from)))
}

/// Whether this thread runs a job with a name.
pub(crate) fn is_set() -> bool {
    NAME.with(|name| name.is_some_and(Option::is_some))
}

/// Runs a job, with this name or without one.
pub(crate) fn set<R>(name: &Option<Cow<'static, str>>, call: impl FnOnce() -> R) -> R {
    NAME.set(name, call)
}
