//! What programs expect of threadpool 1.8; a test's name is its claim.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod api;
mod dropping;
mod examples;
mod joining;
mod panicking;
mod sizes;
mod threads;

use std::sync::mpsc;

use brigade_testkit::Gate;
use threadpool::ThreadPool;

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
