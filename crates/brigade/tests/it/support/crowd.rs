//! Jobs that meet on a pool, and counts of its threads, for pools that grow and shrink.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Builder, Pool, Queueing};
use brigade_testkit::{Gate, eventually};

/// Runs `claim` with a builder for each queueing; a failure names it.
pub(crate) fn for_both_queueings(claim: impl Fn(Builder)) {
    for queueing in [Queueing::Stealing, Queueing::Shared] {
        let builder = Pool::builder().queueing(queueing);
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| claim(builder))) {
            eprintln!("failed with the queueing: {queueing:?}");
            panic::resume_unwind(payload);
        }
    }
}

/// How many are inside now, and how many were at most.
#[derive(Clone, Default)]
pub(crate) struct Crowd(Arc<Heads>);

#[derive(Default)]
struct Heads {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// One of them, until it is dropped.
pub(crate) struct Inside(Arc<Heads>);

impl Crowd {
    pub(crate) fn enter(&self) -> Inside {
        let now = self.0.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(now, Ordering::SeqCst);
        Inside(Arc::clone(&self.0))
    }

    pub(crate) fn now(&self) -> usize {
        self.0.now.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }

    /// A job that is inside until the gate opens.
    pub(crate) fn job(&self, gate: &Gate) -> impl FnOnce() + Send + 'static {
        let (crowd, gate) = (self.clone(), gate.clone());
        move || {
            let _inside = crowd.enter();
            gate.wait();
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many workers the pool has now.
pub(crate) fn workers(pool: &Pool) -> usize {
    pool.metrics().threads
}

/// Waits until the pool has this many workers and all of them sleep.
#[track_caller]
pub(crate) fn await_idle_workers(pool: &Pool, count: usize) {
    eventually("so many workers, all of them idle", || {
        let metrics = pool.metrics();
        (metrics.threads, metrics.idle_threads) == (count, count)
    });
}

/// How many threads of this process have a name that starts so.
#[cfg(target_os = "linux")]
pub(crate) fn threads_named(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(prefix)).count()
}

/// Submits a child from within a job that then computes, for some seconds at most; whether another worker has run it.
pub(crate) fn a_child_runs_elsewhere() -> bool {
    let child = Arc::new(AtomicBool::new(false));
    let ran = Arc::clone(&child);
    brigade::execute(move || ran.store(true, Ordering::SeqCst));
    let limit = Instant::now() + Duration::from_secs(10);
    while !child.load(Ordering::SeqCst) && Instant::now() < limit {
        thread::yield_now();
    }
    child.load(Ordering::SeqCst)
}
