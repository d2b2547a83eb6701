//! Ends the process when a life does not end, and prints which.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A life takes milliseconds, on a machine with much else to do perhaps a second.
const LIMIT: Duration = Duration::from_secs(60);

/// Lives that have begun and not ended: when, and what they are.
static LIVES: Mutex<BTreeMap<u64, (Instant, String)>> = Mutex::new(BTreeMap::new());

fn lives() -> MutexGuard<'static, BTreeMap<u64, (Instant, String)>> {
    LIVES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A life that is under way; says what it was if it ends in a panic.
pub(crate) struct Underway(u64);

impl Underway {
    pub(crate) fn begin(what: String) -> Self {
        let mut lives = lives();
        let number = lives.last_key_value().map_or(0, |(last, _)| last + 1);
        lives.insert(number, (Instant::now(), what));
        Self(number)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let ended = lives().remove(&self.0);
        if let (true, Some((_, what))) = (thread::panicking(), ended) {
            eprintln!("failed with {what}");
        }
    }
}

/// Monitors the lives as long as the process runs.
pub(crate) fn watch() {
    thread::spawn(|| {
        loop {
            thread::sleep(Duration::from_secs(1));
            for (begun, what) in lives().values() {
                if begun.elapsed() > LIMIT {
                    // Not `eprintln!`: libtest captures its output, which is lost with the process.
                    let _ = writeln!(std::io::stderr(), "hung for {LIMIT:?}: {what}");
                    std::process::abort();
                }
            }
        }
    });
}
