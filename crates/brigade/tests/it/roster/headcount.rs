//! Hooks, counters and reports of pools whose threads come and go: everything is counted once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::support::busy::open_once_closed;
use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::reports::counts;
use brigade::{Builder, Pool, Shutdown};
use brigade_testkit::{Gate, eventually, test};

/// What the hooks were called with, and where.
#[derive(Default)]
struct Calls {
    /// The workers that have started and not stopped, by index.
    there: HashMap<usize, ThreadId>,
    starts: usize,
    stops: usize,
    /// The first error.
    wrong: Option<String>,
}

impl Calls {
    fn start(&mut self, index: usize) {
        self.starts += 1;
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
fn hooks_run_once_for_each_thread_that_comes_and_goes(builder: Builder) {
    let started = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&started);
    let builder = builder.threads(1..=4).keep_alive(Duration::ZERO).spawner(move |thread| {
        counted.fetch_add(1, Ordering::SeqCst);
        thread.start()
    });
    let (pool, calls) = with_hooks(builder);
    await_idle_workers(&pool, 1);
    for round in 1..=20 {
        let (gate, crowd) = (Gate::closed(), Crowd::default());
        for busy in 1..=4 {
            pool.execute(crowd.job(&gate));
            eventually("the job has started", || crowd.now() == busy);
        }
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
}

/// The hook of a worker that leaves comes when it leaves, not when the pool ends.
#[test]
fn the_stop_hook_of_a_thread_that_leaves_runs_while_the_pool_is_open() {
    let keep_alive = Duration::from_millis(100);
    let (pool, calls) = with_hooks(Pool::builder().threads(0..=1).keep_alive(keep_alive));
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    eventually("its hook runs", || calls.lock().unwrap().stops > 0);
    assert!(!pool.handle().metrics().is_closed);
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
}

#[test(for_both_queueings)]
fn the_report_of_a_discarded_pool_that_grew_counts_every_job(builder: Builder) {
    let pool = builder.threads(0..=3).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for busy in 1..=3 {
        pool.execute(crowd.job(&gate));
        eventually("the job has started", || crowd.now() == busy);
    }
    (0..100).for_each(|_| pool.execute(|| unreachable!("it is discarded")));
    assert_eq!((workers(&pool), pool.metrics().queued), (3, 100));
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!(counts(report), (3, 100, 0));
}

#[test(for_both_queueings)]
fn a_shutdown_with_a_timeout_counts_the_jobs_of_blocked_threads_as_running(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for _ in 0..2 {
        let job = crowd.job(&gate);
        pool.execute(move || brigade::blocking(job));
    }
    eventually("both are blocked", || crowd.now() == 2);
    let report = pool.shutdown(Shutdown::Drain.timeout(Duration::from_millis(20)));
    assert_eq!(counts(report), (0, 0, 2));
    gate.open();
    eventually("they end by themselves", || crowd.now() == 0);
}
