//! The clock of a pool: the system's, or a paused clock.
//!
//! A paused clock moves only in [`leap`](Clock::leap) and [`advance`](Clock::advance). It belongs to the
//! pool, and not to the thread that drives the pool, because other threads set timers in the pool too.

use std::time::{Duration, Instant};

use brigade_sync::time;
use brigade_sync::unmodelled::Mutex;

use super::FAR;

/// The clock of a pool.
pub(crate) struct Clock(Option<Paused>);

struct Paused {
    now: Mutex<Instant>,
    /// The clock never gets here: a timer set to this time, or later, never fires.
    end: Instant,
}

impl Clock {
    /// Whether this build has paused clocks. The compiler removes their code from other builds.
    pub(crate) const MAY_BE_PAUSED: bool = cfg!(feature = "test-util");

    /// The system's clock, or a clock paused at that time.
    pub(in crate::engine) fn new(paused_at: Option<Instant>) -> Self {
        Self(paused_at.map(|start| Paused { now: Mutex::new(start), end: start + FAR }))
    }

    fn paused(&self) -> Option<&Paused> {
        if Self::MAY_BE_PAUSED { self.0.as_ref() } else { None }
    }

    pub(in crate::engine) fn is_paused(&self) -> bool {
        self.paused().is_some()
    }

    pub(crate) fn now(&self) -> Instant {
        if let Some(paused) = self.paused() { *paused.now.lock() } else { time::now() }
    }

    /// How long a thread sleeps until `at`; `None` for ever. A paused clock [leaps](Self::leap) there.
    pub(in crate::engine) fn until(&self, at: Instant) -> Option<Duration> {
        match self.paused() {
            Some(paused) if at >= paused.end => None,
            Some(_) => Some(Duration::ZERO),
            None => Some(time::until(at)),
        }
    }

    /// Moves a paused clock to `at`, if a thread would sleep until then.
    pub(in crate::engine) fn leap(&self, at: Instant) {
        let Some(paused) = self.paused() else { return };
        let mut now = paused.now.lock();
        if *now < at && at < paused.end {
            *now = at;
        }
    }

    /// Moves a paused clock by a duration.
    ///
    /// # Errors
    /// With advice, if the clock is not paused or would come to its end.
    #[cfg(feature = "test-util")]
    pub(crate) fn advance(&self, by: Duration) -> Result<(), &'static str> {
        let paused = self
            .paused()
            .ok_or("the clock of this pool is not paused; make the pool by `LocalPool::paused`")?;
        let mut now = paused.now.lock();
        let then = now.checked_add(by).filter(|&then| then < paused.end);
        *now = then.ok_or("a paused clock advances by less than a hundred years in all")?;
        Ok(())
    }
}
