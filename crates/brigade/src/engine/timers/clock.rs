//! The clock of a pool: the system's, or a paused clock.
//!
//! The time of a paused clock passes nowhere but in [`leap`](Clock::leap) and [`advance`](Clock::advance). It belongs to the pool and not
//! to the thread that drives it, as other threads set timers in the pool too.

use core::time::Duration;
use std::time::Instant;

use brigade_sync::time;
use brigade_sync::unmodelled::Mutex;

use super::FAR;

/// The clock of a pool.
pub(crate) struct Clock(Option<Paused>);

struct Paused {
    now: Mutex<Instant>,
    /// The clock never gets here: a timer that is set to this time, or later, never fires.
    end: Instant,
}

impl Clock {
    /// Whether there are paused clocks in this build. The compiler removes the code for them from others.
    pub(crate) const MAY_BE_PAUSED: bool = cfg!(feature = "test-util");

    /// The system's clock, or a clock that is paused at `start`.
    pub(super) fn new(is_paused: bool, start: Instant) -> Self {
        Self(is_paused.then(|| Paused { now: Mutex::new(start), end: start + FAR }))
    }

    fn paused(&self) -> Option<&Paused> {
        self.0.as_ref().filter(|_| Self::MAY_BE_PAUSED)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused().is_some()
    }

    pub(crate) fn now(&self) -> Instant {
        self.paused().map_or_else(time::now, |paused| *paused.now.lock())
    }

    /// How long a thread sleeps until that time; `None` if that is forever. A paused clock [leaps](Self::leap) there.
    pub(super) fn until(&self, at: Instant) -> Option<Duration> {
        match self.paused() {
            Some(paused) => (at < paused.end).then_some(Duration::ZERO),
            None => Some(time::until(at)),
        }
    }

    /// Moves a paused clock to that time, where a thread would sleep until then.
    pub(super) fn leap(&self, at: Instant) {
        if let Some(paused) = self.paused().filter(|paused| at < paused.end) {
            let mut now = paused.now.lock();
            *now = at.max(*now);
        }
    }

    /// Moves a paused clock by that much.
    ///
    /// # Errors
    /// With advice, if it is not paused or would come to its end.
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
