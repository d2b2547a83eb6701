//! Ends the process when a test hangs, and waits for what nobody announces.

use std::io::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// While it lives the test has so many seconds; then the process aborts with the test's name.
#[must_use]
pub(crate) struct Watchdog(
    /// Dropping it calls the dog off.
    #[expect(dead_code, reason = "held, not used")]
    Sender<()>,
);

impl Watchdog {
    /// Limits the test that calls it to `seconds`.
    pub(crate) fn start(seconds: u64) -> Self {
        let (leash, called_off) = mpsc::channel::<()>();
        let test = thread::current().name().unwrap_or("a test").to_owned();
        thread::spawn(move || {
            let waited = called_off.recv_timeout(Duration::from_secs(seconds));
            if waited == Err(RecvTimeoutError::Timeout) {
                // Not `eprintln!`: libtest captures that, and the capture dies with the process.
                let _ = writeln!(std::io::stderr(), "watchdog: {test} hung for {seconds} s");
                std::process::abort();
            }
        });
        Self(leash)
    }
}

/// Waits for a state that nobody announces; fails the test after ten seconds.
#[track_caller]
pub(crate) fn eventually(what: &str, reached: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(10);
    while !reached() {
        assert!(Instant::now() < limit, "not within 10 s: {what}");
        thread::sleep(Duration::from_micros(50));
    }
}
