//! Spinning before sleeping, or instead.

use core::time::Duration;

use brigade_sync::time;

use super::Worker;
use crate::config::Idle as Policy;
use crate::idle::Spinning;

/// How often a spinning worker looks for a token between two looks at the clock.
const LOOKS: u32 = 16;

/// The right to spin, which at most one worker of a pool has.
pub(super) struct Spin<'a> {
    /// How much longer it may spin.
    pub(super) left: Duration,
    _right: Spinning<'a>,
}

impl Worker {
    /// Waits for a token; `false` if `timeout` has elapsed.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> bool {
        match self.core.config.idle {
            Policy::Spin => self.spin(timeout),
            _ => self.me.sleeper.spot.parker.park(timeout),
        }
    }

    /// Whether this pool's workers never sleep.
    pub(super) fn always_spins(&self) -> bool {
        self.core.config.idle == Policy::Spin
    }

    /// Takes the right to spin before sleeping, if the pool's policy says so, no other worker has it, and a CPU is free.
    pub(super) fn try_spin(&self) -> Option<Spin<'_>> {
        let Policy::SpinThenPark(left) = self.core.config.idle else { return None };
        if left.is_zero() {
            return None;
        }
        self.core.idle.try_spin().map(|right| Spin { left, _right: right })
    }

    /// Spins for a token for as long as the right lasts, or for `timeout`; `false` if that has elapsed.
    pub(super) fn spin_for(&self, spin: &mut Spin<'_>, timeout: Option<Duration>) -> bool {
        let slice = timeout.map_or(spin.left, |timeout| timeout.min(spin.left));
        spin.left -= slice;
        self.spin(Some(slice))
    }

    /// Spins for a token; `false` if `patience` has elapsed.
    fn spin(&self, patience: Option<Duration>) -> bool {
        let parker = &self.me.sleeper.spot.parker;
        let start = time::now();
        let mut looks = 0_u32;
        loop {
            if parker.try_take() {
                return true;
            }
            brigade_sync::hint::spin_loop();
            // Not an inner loop, which the compiler would unroll.
            looks = looks.wrapping_add(1);
            if looks % LOOKS != 0 {
                continue;
            }
            if patience.is_some_and(|patience| time::since(start) >= patience) {
                return false;
            }
            if self.always_spins() {
                // This may last forever, so other threads must get this CPU.
                brigade_sync::thread::yield_now();
            }
        }
    }
}
