//! Hooks, counters and reports of pools whose threads come and go: everything is counted once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::support::busy::open_once_closed;
use crate::support::crowd::{await_idle_workers, for_both_queueings, workers};
use crate::support::reports::counts;
use crate::support::staging::{blocked, running};
use brigade::{Builder, Pool, Shutdown};
use brigade_testkit::{eventually, test};

/// What the hooks were called with, and where.
#[derive(Default)]
struct Calls {
    /// The workers that have started and not stopped, by index.
    there: HashMap<usize, ThreadId>,
    starts: usize,
    stops: usize,
    largest_index: usize,
    /// The first error.
    wrong: Option<String>,
}

impl Calls {
    fn start(&mut self, index: usize) {
        self.starts += 1;
        self.largest_index = self.largest_index.max(index);
        let thread = thread::current().id();
        if self.there.values().any(|other| *other == thread) {
            self.wrong.get_or_insert(format!("{thread:?} starts twice"));
        }
        if self.there.insert(index, thread).is_some() {
            self.wrong.get_or_insert(format!("two workers with index {index}"));
        }
    }

    fn stop(&mut self, index: usize) {
        self.stops += 1;
        if self.there.remove(&index) != Some(thread::current().id()) {
            self.wrong.get_or_insert(format!("{index} stops where it did not start"));
        }
    }
}

fn with_hooks(builder: Builder) -> (Pool, Arc<Mutex<Calls>>) {
    let calls: Arc<Mutex<Calls>> = Arc::default();
    let (starts, stops) = (Arc::clone(&calls), Arc::clone(&calls));
    let builder = builder.on_start(move |index| starts.lock().unwrap().start(index));
    let builder = builder.on_stop(move |index| stops.lock().unwrap().stop(index));
    (builder.build().unwrap(), calls)
}

#[test(for_both_queueings)]
fn hooks_run_once_per_thread_and_indices_are_reused(builder: Builder) {
    let started = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&started);
    let builder = builder.threads(1..=4).keep_alive(Duration::ZERO).spawner(move |thread| {
        counted.fetch_add(1, Ordering::SeqCst);
        thread.start()
    });
    let (pool, calls) = with_hooks(builder);
    await_idle_workers(&pool, 1);
    for round in 1..=20 {
        let (_, gate) = running(&pool, 4);
        gate.open();
        await_idle_workers(&pool, 1);
        // Until then a worker that leaves may start another for a job whose worker is in its start hook.
        eventually("three have left", || calls.lock().unwrap().stops == 3 * round);
    }
    pool.resize(1..=2).unwrap();
    drop(pool);
    let calls = calls.lock().unwrap();
    assert_eq!(calls.wrong, None);
    let started = started.load(Ordering::SeqCst);
    assert_eq!((calls.starts, calls.stops, started), (61, 61, 61));
    assert!(calls.there.is_empty());
    // An index is free a moment after the stop hook, so occasionally one more is used.
    assert!(calls.largest_index < 8, "{}", calls.largest_index);
}

#[test(for_both_queueings)]
fn a_grown_pools_discard_report_counts_every_job(builder: Builder) {
    let pool = builder.threads(0..=3).build().unwrap();
    let (_, gate) = running(&pool, 3);
    (0..100).for_each(|_| pool.execute(|| unreachable!("it is discarded")));
    assert_eq!((workers(&pool), pool.metrics().queued), (3, 100));
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!(counts(report), (3, 100, 0));
}

#[test(for_both_queueings)]
fn a_shutdowns_timeout_counts_blocked_jobs_as_running(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    let (crowd, gate) = blocked(&pool, 2);
    let report = pool.shutdown(Shutdown::Drain.timeout(Duration::from_millis(20)));
    assert_eq!(counts(report), (0, 0, 2));
    gate.open();
    eventually("they end by themselves", || crowd.now() == 0);
}
