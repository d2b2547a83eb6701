//! The handle of a closure that has its time.

use core::fmt;
use std::sync::Arc;

use super::schedule::Control;
use crate::key::Key;

/// A closure that is to run at a time, or every so often; from [`execute_after`](crate::execute_after) and its
/// like.
///
/// Dropping it changes nothing: the closure runs in its time. It does not keep the pool alive either. In a forked child
/// there is nobody to run the closure: it counts as over, nothing is known of it, and it is not dropped.
///
/// ```
/// use std::time::Duration;
/// let pool = brigade::Pool::new(1);
/// let timer = pool.execute_after(Duration::from_secs(60), || unreachable!());
/// assert!(!timer.is_over());
/// assert!(timer.cancel());
/// assert!(timer.is_over());
/// ```
pub struct Timer {
    /// There until the handle is dropped.
    schedule: Option<Arc<dyn Control>>,
    pool: Key,
}

impl Timer {
    pub(super) fn new(schedule: Arc<dyn Control>, pool: Key) -> Self {
        Self { schedule: Some(schedule), pool }
    }

    /// What is known, if it is this process that knows it.
    fn here(&self) -> Option<&dyn Control> {
        self.schedule.as_deref().filter(|_| self.pool.is_here())
    }

    /// Sees to it that the closure does not run, or not again; `false` if there was nothing left to cancel: it has been
    /// cancelled before, its pool has been closed, or it has run or runs for the only time.
    ///
    /// What it has captured is dropped here and now, and a panic of that is contained; if it runs just now, by the thread that
    /// runs it, directly afterwards. It may be the closure itself that calls this.
    ///
    /// ```
    /// use brigade::Missed;
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let captured = Arc::new(());
    /// let held = captured.clone();
    /// let timer = pool.execute_every(Duration::from_secs(1), Missed::Skip, move || _ = &held);
    /// assert!(timer.cancel());
    /// assert_eq!(Arc::strong_count(&captured), 1);
    /// assert!(!timer.cancel(), "it is already");
    /// ```
    pub fn cancel(&self) -> bool {
        self.here().is_some_and(Control::cancel)
    }

    /// What the last panic of the closure said; `None` if it never panicked. A payload that is no text is described.
    ///
    /// ```
    /// use std::time::Duration;
    /// # std::panic::set_hook(Box::new(|_| ()));
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.execute_after(Duration::ZERO, || panic!("no such file"));
    /// while !timer.is_over() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(timer.last_error().as_deref(), Some("no such file"));
    /// ```
    pub fn last_error(&self) -> Option<String> {
        self.here().and_then(Control::last_error)
    }

    /// How often the closure has run, panics included. In a forked child 0.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.execute_after(Duration::ZERO, || ());
    /// while !timer.is_over() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(timer.ticks(), 1);
    /// ```
    pub fn ticks(&self) -> u64 {
        self.here().map_or(0, Control::ticks)
    }

    /// Whether the closure is gone with all that it had captured: it has run for the last time, or has been cancelled.
    pub fn is_over(&self) -> bool {
        self.here().is_none_or(Control::is_over)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.pool.is_here() {
            // Who knows in what state it was.
            core::mem::forget(self.schedule.take());
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("is_over", &self.is_over()).finish_non_exhaustive()
    }
}
