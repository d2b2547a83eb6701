//! What a job is made of.

/// Something to run once, on whatever thread: a closure, or one with a condition and things to be done first.
///
/// Every closure without arguments is one. A type of your own may be one too, and is asked at the last moment whether
/// it wants to run at all.
///
/// ```
/// use brigade_task::{Job, JoinError, Ran, Work};
/// struct Odd(u32);
/// impl Work for Odd {
///     type Output = u32;
///     fn may_start(&self) -> bool {
///         self.0 % 2 == 1
///     }
///     fn run(self) -> u32 {
///         self.0
///     }
/// }
/// let (job, handle) = Job::with_handle(Odd(3));
/// assert_eq!(job.run(), Ran::Returned);
/// assert_eq!(handle.join().unwrap(), 3);
/// let (job, handle) = Job::with_handle(Odd(4));
/// assert_eq!(job.run(), Ran::Cancelled);
/// assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
/// ```
pub trait Work: Send + 'static {
    /// What it makes.
    type Output;

    /// Whether it still wants to run; asked once, by the thread that would run it, just before. If not it is dropped,
    /// and counts as cancelled. A panic here is a panic of the job.
    #[inline(always)]
    fn may_start(&self) -> bool {
        true
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
        self()
    }
}
