//! Ends the process when a test hangs, and waits for states without an event.

use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::cases::case_of;

/// How many times longer than on an idle machine a test may take: beside two computing threads per CPU it gets a third of
/// the time, and the sanitizers slow it down as well. Only a hang takes so long.
const PATIENCE: u64 = 8;

/// How long [`eventually`] waits.
const LIMIT: Duration = Duration::from_secs(10 * PATIENCE);

/// How long [`stays`] looks.
pub(crate) const A_WHILE: Duration = Duration::from_millis(10);

/// Read by every test, written by a test that measures time.
static MACHINE: RwLock<()> = RwLock::new(());

/// Limits a test's time; when it is over, the process aborts with the test's name. Expected panics stay out of the output.
#[must_use = "dropping it ends the watch"]
pub struct Watchdog {
    /// The watching thread ends when this is dropped.
    _leash: Sender<()>,
    /// Held by a test that may run beside others.
    _shared: Option<RwLockReadGuard<'static, ()>>,
    /// Held by a test that runs alone.
    _alone: Option<RwLockWriteGuard<'static, ()>>,
}

impl Watchdog {
    /// Limits the calling test to `seconds` of an idle machine's time.
    pub fn start(seconds: u64) -> Self {
        let shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        Self { _leash: watch(seconds), _shared: Some(shared), _alone: None }
    }

    /// Limits the calling test likewise, and runs no other test with a watchdog of this binary beside it.
    pub fn start_alone(seconds: u64) -> Self {
        let alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        Self { _leash: watch(seconds), _shared: None, _alone: Some(alone) }
    }
}

fn watch(seconds: u64) -> Sender<()> {
    crate::panics::silence_expected();
    let (leash, ended) = mpsc::channel::<()>();
    let test = thread::current();
    let limit = Duration::from_secs(seconds * PATIENCE);
    thread::spawn(move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let name = test.name().unwrap_or("a test");
            let case = case_of(test.id()).map(|case| format!(" with {case}")).unwrap_or_default();
            // Not `eprintln!`: libtest captures that output, which is lost with the process.
            let _ = writeln!(std::io::stderr(), "watchdog: {name} hung for {limit:?}{case}");
            std::process::abort();
        }
    });
    leash
}

/// Waits for a state without an event.
///
/// # Panics
/// If the state is not reached within 80 seconds.
#[track_caller]
pub fn eventually(what: &str, reached: impl Fn() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !reached() {
        assert!(Instant::now() < limit, "not within {LIMIT:?}: {what}");
        thread::sleep(Duration::from_micros(50));
    }
}

/// Checks that a state lasts for some milliseconds: for the claim of an uneventful time. A defect that takes longer is not
/// noticed, so the steps to the state are awaited before.
///
/// # Panics
/// If the state ends within the time.
#[track_caller]
pub fn stays(what: &str, lasts: impl Fn() -> bool) {
    let end = Instant::now() + A_WHILE;
    while Instant::now() < end {
        assert!(lasts(), "not for {A_WHILE:?}: {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Uses the CPU for `delay`, which may be far shorter than a sleep can be.
pub fn spin_for(delay: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < delay {
        std::hint::spin_loop();
    }
}
