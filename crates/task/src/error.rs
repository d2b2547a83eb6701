//! The reasons for a job without a result.

use core::any::Any;
use core::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::Exclusive;

use crate::cause::Cause;

/// The reason why a job has no result.
///
/// `?` converts it into a `Box<dyn Error + Send + Sync>`, and into an [`io::Error`] of the kind
/// [`Deadlock`](io::ErrorKind::Deadlock) for [`WouldDeadlock`](Self::WouldDeadlock),
/// [`TimedOut`](io::ErrorKind::TimedOut) for a missed [`Deadline`](Cause::Deadline), else
/// [`Other`](io::ErrorKind::Other).
///
/// A clone shares the payload of a panic: see [`Panic::into_payload`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// The job panicked.
    Panicked(Panic),
    /// The job was dropped before it ran, or the future before it was ready, for this cause.
    Cancelled(Cause),
    /// The caller would have waited forever, because the job waits for the caller. The job continues.
    WouldDeadlock,
}

impl JoinError {
    /// Returns the error of a panic with this payload.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::JoinError;
    /// let error = JoinError::panicked(Box::new("no such file"));
    /// assert_eq!(error.panic_message(), Some("no such file"));
    /// ```
    pub fn panicked(payload: Box<dyn Any + Send>) -> Self {
        Self::Panicked(Panic::new(payload))
    }

    /// Returns whether the job panicked.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::{Cause, JoinError};
    /// assert!(JoinError::panicked(Box::new(42)).is_panic());
    /// assert!(!JoinError::Cancelled(Cause::Asked).is_panic());
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panicked(_))
    }

    /// Returns whether the job was cancelled, for any cause.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::{Cause, JoinError};
    /// assert!(JoinError::Cancelled(Cause::Asked).is_cancelled());
    /// assert!(!JoinError::WouldDeadlock.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// Returns the message of the panic, if the job panicked and the payload is a string.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::{Cause, JoinError};
    /// let error = JoinError::panicked(Box::new(format!("{} of 3", 2)));
    /// assert_eq!(error.panic_message(), Some("2 of 3"));
    /// assert_eq!(JoinError::panicked(Box::new(42)).panic_message(), None);
    /// assert_eq!(JoinError::Cancelled(Cause::Asked).panic_message(), None);
    /// ```
    pub fn panic_message(&self) -> Option<&str> {
        match self {
            Self::Panicked(panic) => panic.message(),
            Self::Cancelled(_) | Self::WouldDeadlock => None,
        }
    }

    /// Returns the payload of the panic, for [`resume_unwind`](panic::resume_unwind).
    ///
    /// # Panics
    /// If the job did not panic; match [`Panicked`](Self::Panicked) if it may not have panicked.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::JoinError;
    /// let payload = JoinError::panicked(Box::new(42)).into_panic();
    /// assert_eq!(payload.downcast_ref(), Some(&42));
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        match self {
            Self::Panicked(panic) => panic.into_payload(),
            other => panic!("the job did not panic: {other}"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(panic) => panic.fmt(f),
            Self::Cancelled(cause) => write!(f, "the job was cancelled: {cause}"),
            Self::WouldDeadlock => f.write_str(
                "joining this job would deadlock: the job waits for the caller, directly or through other jobs",
            ),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        let kind = match error {
            JoinError::WouldDeadlock => io::ErrorKind::Deadlock,
            JoinError::Cancelled(Cause::Deadline) => io::ErrorKind::TimedOut,
            JoinError::Panicked(_) | JoinError::Cancelled(_) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// The panic of a job. `Display` shows the message, and the name of the job, if the job has one.
#[derive(Clone)]
pub struct Panic(Arc<Content>);

struct Content {
    job: Option<String>,
    payload: Exclusive<Box<dyn Any + Send>>,
}

/// The payload of a panic while it unwinds a job with a name.
struct Named(String, Box<dyn Any + Send>);

/// Calls a closure as the job of this name; a panic has the name.
///
/// ```
/// use brigade_task::{Job, panic_as};
/// let (job, mut handle) = Job::with_handle(|| panic_as("resize", || panic!("no such file")));
/// job.run();
/// let error = handle.join().unwrap_err();
/// assert_eq!(error.to_string(), "the job `resize` panicked: no such file");
/// assert_eq!(error.panic_message(), Some("no such file"));
/// ```
pub fn panic_as<R>(name: &str, call: impl FnOnce() -> R) -> R {
    panic::catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|payload| panic::resume_unwind(Box::new(Named(name.to_owned(), payload))))
}

/// Splits the payload of a job's unwinding into the job's [name](panic_as), if it has a name, and the payload of the panic.
///
/// ```
/// let payload = std::panic::catch_unwind(|| brigade_task::panic_as("resize", || std::panic::panic_any(7)));
/// let (name, payload) = brigade_task::split_name(payload.unwrap_err());
/// assert_eq!((name.as_deref(), payload.downcast_ref()), (Some("resize"), Some(&7)));
/// ```
pub fn split_name(payload: Box<dyn Any + Send>) -> (Option<String>, Box<dyn Any + Send>) {
    match payload.downcast::<Named>() {
        Ok(named) => (Some(named.0), named.1),
        Err(payload) => (None, payload),
    }
}

impl Panic {
    fn new(payload: Box<dyn Any + Send>) -> Self {
        let (job, payload) = split_name(payload);
        Self(Arc::new(Content { job, payload: Exclusive::new(payload) }))
    }

    /// Returns the message, if the payload is a string.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::JoinError;
    /// let JoinError::Panicked(panic) = JoinError::panicked(Box::new("lost")) else { unreachable!() };
    /// assert_eq!(panic.message(), Some("lost"));
    /// ```
    pub fn message(&self) -> Option<&str> {
        let payload = &self.0.payload;
        let fixed = payload.downcast_ref::<&'static str>().copied();
        fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }

    /// Returns the payload. While this panic has clones, the payload is not available: returns a copy of the
    /// [message](Self::message) as a `String`, or the `Panic` itself if there is no message.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::JoinError;
    /// let JoinError::Panicked(panic) = JoinError::panicked(Box::new(42)) else { unreachable!() };
    /// assert!(panic.clone().into_payload().is::<brigade::Panic>(), "it is shared");
    /// assert!(panic.into_payload().downcast::<i32>().is_ok_and(|payload| *payload == 42));
    /// ```
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        match Arc::try_unwrap(self.0) {
            Ok(content) => content.payload.into_inner(),
            Err(shared) => {
                let shared = Self(shared);
                match shared.message() {
                    Some(message) => Box::new(message.to_owned()),
                    None => Box::new(shared),
                }
            }
        }
    }

    /// Continues the panic on this thread, without calling the panic hook again.
    ///
    /// ```
    /// # use brigade_task as brigade;
    /// use brigade::JoinError;
    /// let JoinError::Panicked(panic) = JoinError::panicked(Box::new("lost")) else { unreachable!() };
    /// let again = std::panic::catch_unwind(|| panic.resume()).unwrap_err();
    /// assert_eq!(again.downcast_ref(), Some(&"lost"));
    /// ```
    pub fn resume(self) -> ! {
        panic::resume_unwind(self.into_payload())
    }
}

impl panic::UnwindSafe for Panic {}
impl panic::RefUnwindSafe for Panic {}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Some(message) => write!(f, "{message:?}"),
            None => f.write_str(".."),
        }
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.job {
            Some(name) => write!(f, "the job `{name}` panicked")?,
            None => f.write_str("the job panicked")?,
        }
        self.message().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}
