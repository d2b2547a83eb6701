//! What a random test runs under: a seed that can be given again, and an end to its patience.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Runs `body` on a thread of its own, with a seed: that of `BRIGADE_SEED` if there is one.
///
/// The line with the seed goes where the test harness does not catch it: an abort shows it too.
///
/// # Panics
/// If `body` does, or does not end in `patience`; its threads are then left to themselves.
pub(crate) fn run(patience: Duration, body: impl FnOnce(u64) + Send + 'static) {
    let seed = std::env::var("BRIGADE_SEED").map_or_else(
        |_| RandomState::new().hash_one(0),
        |seed| seed.parse().expect("BRIGADE_SEED is a number"),
    );
    let test = thread::current();
    let test = test.name().unwrap_or("a test");
    let line = format!("to repeat {test}: BRIGADE_SEED={seed}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
    // Dropped when the body ends, however it does.
    let (ended, end) = mpsc::channel::<()>();
    let body = thread::spawn(move || {
        let _ended = ended;
        body(seed);
    });
    match end.recv_timeout(patience) {
        Err(RecvTimeoutError::Timeout) => panic!("hangs: not through after {patience:?}"),
        _ => body.join().unwrap_or_else(|payload| panic::resume_unwind(payload)),
    }
}
