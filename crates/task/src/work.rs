//! The content of a job.

use brigade_sync::call_user;

use crate::cause::Cause;

/// Something to run once, on any thread: a closure, or a type with a condition to check before it runs.
///
/// Every closure without arguments implements it. Another type may implement it too; [`may_start`](Self::may_start) is called
/// just before it would run.
///
/// ```
/// use brigade_task::{Cause, Job, JoinError, Outcome, Work};
/// struct Odd(u32);
/// impl Work for Odd {
///     type Output = u32;
///     fn may_start(&self) -> Result<(), Cause> {
///         if self.0 % 2 == 1 { Ok(()) } else { Err(Cause::Asked) }
///     }
///     fn run(self) -> u32 {
///         self.0
///     }
/// }
/// let (job, handle) = Job::with_handle(Odd(3));
/// assert_eq!(job.run(), Outcome::Returned);
/// assert_eq!(handle.join()?, 3);
/// let (job, handle) = Job::with_handle(Odd(4));
/// assert_eq!(job.run(), Outcome::Cancelled(Cause::Asked));
/// assert!(matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))));
/// # Ok::<(), JoinError>(())
/// ```
pub trait Work: Send + 'static {
    /// The type of the result.
    type Output;

    /// Returns whether it may still run, or the cause why it may not.
    ///
    /// Called once, just before it would run, by the thread that would run it.
    ///
    /// # Errors
    /// The work is dropped, and cancelled for this cause.
    ///
    /// # Panics
    /// A panic here is a panic of the job.
    #[inline(always)]
    fn may_start(&self) -> Result<(), Cause> {
        Ok(())
    }

    /// Returns whether running it would have no effect, so its queue entry may be removed.
    ///
    /// Asked by [`Job::is_stale`](crate::Job::is_stale) for work without a handle, at any time, while it is queued. The answer
    /// `true` must be final. It must not panic.
    #[inline(always)]
    fn is_stale(&self) -> bool {
        false
    }

    /// Runs it.
    fn run(self) -> Self::Output;
}

impl<F, T> Work for F
where
    F: FnOnce() -> T + Send + 'static,
{
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        call_user(self)
    }
}
