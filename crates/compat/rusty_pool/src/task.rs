//! The tasks of a pool.

/// Work with a result, such as a closure.
///
/// ```
/// use rusty_pool::{Task, ThreadPool};
/// struct Answer;
/// impl Task<i32> for Answer {
///     fn run(self) -> i32 {
///         42
///     }
///     fn into_fn(self) -> Option<Box<dyn FnOnce() -> i32 + Send + 'static>> {
///         None
///     }
///     fn is_fn(&self) -> bool {
///         false
///     }
/// }
/// assert_eq!(ThreadPool::default().evaluate(Answer).await_complete(), 42);
/// ```
pub trait Task<R: Send>: Send {
    /// Does the work, and returns the result. A pool calls this.
    fn run(self) -> R;

    /// Returns the work as a closure in a box, if possible.
    fn into_fn(self) -> Option<Box<dyn FnOnce() -> R + Send + 'static>>;

    /// Whether [`into_fn`](Self::into_fn) returns a closure.
    fn is_fn(&self) -> bool;
}

impl<R: Send, F: FnOnce() -> R + Send + 'static> Task<R> for F {
    #[inline]
    fn run(self) -> R {
        self()
    }

    fn into_fn(self) -> Option<Box<dyn FnOnce() -> R + Send + 'static>> {
        Some(Box::new(self))
    }

    fn is_fn(&self) -> bool {
        true
    }
}
