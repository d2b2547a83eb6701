//! The handle of a closure that runs at a given time.

use std::sync::Arc;
use std::time::Instant;

use brigade_sync::MutexGuard;

use crate::engine::{Key, TimerKey};
use crate::values::opaque;

/// The state of a closure's runs.
pub(super) struct TimerState {
    pub(super) stage: Stage,
    /// When the next run is due; while the closure runs, when that run was due.
    pub(super) at: Instant,
    /// The key of the newest known timer. The timer may have fired.
    pub(super) timer: Option<TimerKey>,
    /// Runs that have ended.
    pub(super) ticks: u64,
    /// The message of the last panic.
    pub(super) error: Option<String>,
}

/// Where the closure is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not taken: its timer is set, or the job of its next run is queued.
    Here,
    /// With the worker that runs it, or is about to: too late to cancel this run.
    Running,
    /// With the thread that drops it, or with the worker that runs it and then drops it.
    Ending,
    /// Dropped.
    Over,
}

/// The schedule of a [`Timer`], for any type of closure.
pub(super) trait Control: Send + Sync {
    fn state(&self) -> MutexGuard<'_, TimerState>;
    fn cancel(self: Arc<Self>) -> bool;
}

/// The handle of a closure that runs at a given time, or periodically; returned by
/// [`execute_after`](crate::execute_after) and similar functions.
///
/// Dropping the handle has no effect: the closure still runs at its time. The handle does not keep the pool alive
/// either. In a forked child no thread runs the closure: it counts as over, and it is not dropped, because its state
/// is unknown.
///
/// ```
/// use std::time::Duration;
/// let pool = brigade::Pool::new(1);
/// let timer = pool.job().after(Duration::from_secs(60)).execute(|| unreachable!())?;
/// assert!(!timer.is_over());
/// assert!(timer.cancel());
/// assert!(timer.is_over());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Timer {
    /// `Some` until the handle is dropped.
    schedule: Option<Arc<dyn Control>>,
    pool: Key,
}

impl Timer {
    pub(super) fn new(schedule: Arc<dyn Control>, pool: Key) -> Self {
        Self { schedule: Some(schedule), pool }
    }

    /// The schedule, if it belongs to this process.
    fn here(&self) -> Option<&Arc<dyn Control>> {
        self.schedule.as_ref().filter(|_| self.pool.is_here())
    }

    /// Cancels the closure, so that it does not run, or not again. Returns `false` if there was nothing left to
    /// cancel: the closure had been cancelled before, the pool had been closed, or the only run had begun.
    ///
    /// The captures are dropped in this call, or after the drops that it is called in if these nest deeply, and a panic of a destructor is caught. If the closure is running, its
    /// thread drops the captures directly after the run. The closure itself may call this.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let captured = Arc::new(());
    /// let held = captured.clone();
    /// let timer = pool.job().every(Duration::from_secs(1)).execute(move || _ = &held)?;
    /// assert!(timer.cancel());
    /// assert_eq!(Arc::strong_count(&captured), 1);
    /// assert!(!timer.cancel(), "it is already");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(&self) -> bool {
        self.here().is_some_and(|schedule| schedule.clone().cancel())
    }

    /// Returns the message of the closure's last panic; `None` if it never panicked. For a payload that is not a
    /// string, the message is a fixed text.
    ///
    /// ```
    /// use std::time::Duration;
    /// # std::panic::set_hook(Box::new(|_| ()));
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.job().after(Duration::ZERO).execute(|| panic!("no such file"))?;
    /// while !timer.is_over() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(timer.last_error().as_deref(), Some("no such file"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn last_error(&self) -> Option<String> {
        self.here().and_then(|schedule| schedule.state().error.clone())
    }

    /// Returns the number of runs, including panicked runs. Returns 0 in a forked child.
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(1);
    /// let timer = pool.job().after(Duration::ZERO).execute(|| ())?;
    /// while !timer.is_over() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(timer.ticks(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ticks(&self) -> u64 {
        self.here().map_or(0, |schedule| schedule.state().ticks)
    }

    /// Returns whether the closure has been dropped with its captures: its last run has ended, or it has been cancelled.
    pub fn is_over(&self) -> bool {
        self.here().is_none_or(|schedule| schedule.state().stage == Stage::Over)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.pool.is_here() {
            // The closure may have been in any state at the fork.
            core::mem::forget(self.schedule.take());
        }
    }
}

opaque!(Timer: is_over);
