//! What programs expect of rusty_pool 0.7; a test's name is its claim.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod api;
mod ending;
mod examples;
#[cfg(feature = "async")]
mod futures;
mod joining;
mod panicking;
mod results;
mod threads;

use std::sync::mpsc;
use std::time::Duration;

use brigade_testkit::Gate;
use rusty_pool::ThreadPool;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// Occupies `count` threads until the gate is open, and returns once they are occupied.
fn occupy(pool: &ThreadPool, count: usize, gate: &Gate) {
    let (started, starts) = mpsc::channel();
    for _ in 0..count {
        let (started, gate) = (started.clone(), gate.clone());
        pool.execute(move || {
            started.send(()).unwrap();
            gate.wait();
        });
    }
    (0..count).for_each(|_| starts.recv().unwrap());
}
