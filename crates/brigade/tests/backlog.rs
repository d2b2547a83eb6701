//! A producer that is far ahead of the pool: the memory of a queued job, and that the next backlog reuses it. One
//! test: the memory is the process's.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use brigade::Pool;
use brigade_testkit::resources::resident;

/// Jobs that wait at once.
const JOBS: u64 = 1 << 20;

/// The most memory of a queued job: its four words, and one for the queue's bookkeeping.
const BYTES: u64 = 40;

/// Fault 93. The memory of an unbounded pool is bounded only per queued job.
///
/// Resident memory does not show what has been freed, as an allocator may keep it. It does show a leak, since later
/// backlogs would need more.
#[test]
fn a_backlog_costs_40_bytes_a_job_once() {
    static SUM: AtomicU64 = AtomicU64::new(0);
    let pool = Pool::new(1);
    pool.submit(|| ()).join().unwrap();
    let before = resident();
    for round in 1..=3 {
        let (go, wait) = mpsc::channel::<()>();
        pool.execute(move || wait.recv().unwrap());
        for n in 0..JOBS {
            pool.execute(move || _ = SUM.fetch_add(n, Ordering::Relaxed));
        }
        let grown = resident().saturating_sub(before) << 10;
        go.send(()).unwrap();
        pool.wait_idle();
        assert!(grown < JOBS * BYTES, "backlog {round}: {} bytes a job", grown / JOBS);
    }
    assert_eq!(SUM.load(Ordering::Relaxed), 3 * (JOBS * (JOBS - 1) / 2));
}
