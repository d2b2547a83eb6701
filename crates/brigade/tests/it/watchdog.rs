//! Ends the process when a test hangs, and gives tests that measure time the machine to themselves.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

#[path = "../../../sync/tests/house/watchdog.rs"]
mod house;

pub(crate) use house::eventually;

/// Held for reading by every test, for writing by one that judges time.
static MACHINE: RwLock<()> = RwLock::new(());

/// While it lives the test has so many seconds; then the process aborts with the test's name.
pub(crate) struct Watchdog {
    /// Dropping it calls the dog off.
    _leash: house::Watchdog,
    /// Together with other tests.
    _shared: Option<RwLockReadGuard<'static, ()>>,
    /// With no other test of this binary running.
    _alone: Option<RwLockWriteGuard<'static, ()>>,
}

impl Watchdog {
    /// Limits the test that calls it to `seconds`.
    #[must_use]
    pub(crate) fn start(seconds: u64) -> Self {
        let shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        Self { _leash: house::Watchdog::start(seconds), _shared: Some(shared), _alone: None }
    }

    /// The same for a test that judges time: no other test runs beside it.
    #[must_use]
    pub(crate) fn start_alone(seconds: u64) -> Self {
        let alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        Self { _leash: house::Watchdog::start(seconds), _shared: None, _alone: Some(alone) }
    }
}

/// Judges time up to three times: other programs may spoil an attempt, a defect spoils them all.
#[track_caller]
pub(crate) fn in_one_of_three_attempts(measure: impl Fn() -> Result<(), String>) {
    let failed = |_| measure().inspect_err(|why| println!("{why}")).err();
    let failures: Vec<String> = (0..3).map_while(failed).collect();
    assert!(failures.len() < 3, "three times: {failures:?}");
}

/// Uses the CPU for that long: a delay far shorter than a sleep can be.
pub(crate) fn spin_for(delay: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < delay {
        std::hint::spin_loop();
    }
}
