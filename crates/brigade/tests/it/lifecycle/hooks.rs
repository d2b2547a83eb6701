//! The start and stop hooks of a pool.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::support::roll_call::thread_ids;
use brigade::{Handle, Pool, current_worker};
use brigade_testkit::{Gate, test};

type Calls = Arc<Mutex<Vec<(usize, ThreadId)>>>;

fn recorder(calls: &Calls) -> impl Fn(usize) + Send + Sync + 'static {
    let calls = Arc::clone(calls);
    move |index| {
        assert_eq!(current_worker().map(|worker| worker.index), Some(index));
        calls.lock().unwrap().push((index, thread::current().id()));
    }
}

fn sorted(calls: &Calls) -> Vec<(usize, ThreadId)> {
    let mut calls = calls.lock().unwrap().clone();
    calls.sort_by_key(|call| call.0);
    calls
}

#[test(threads in [1, 2, 7])]
fn start_and_stop_hooks_run_once_on_every_worker_with_its_index(threads: usize) {
    let (starts, stops) = (Calls::default(), Calls::default());
    let builder = Pool::builder().threads(threads);
    let builder = builder.on_start(recorder(&starts)).on_stop(recorder(&stops));
    let pool = builder.build().unwrap();
    let ids = thread_ids(&pool);
    let begun: HashSet<_> = sorted(&starts).into_iter().map(|start| start.1).collect();
    assert!(ids.is_subset(&begun), "a worker ran a job before its start hook had returned");
    assert!(stops.lock().unwrap().is_empty(), "stopped while the pool lives");
    drop(pool);
    let (starts, stops) = (sorted(&starts), sorted(&stops));
    assert!(starts.iter().map(|start| start.0).eq(0..threads));
    assert!(starts.iter().all(|start| ids.contains(&start.1)) && current_worker().is_none());
    assert_eq!(starts, stops);
}

#[test]
fn hooks_that_panic_are_contained() {
    let calls = Arc::new(AtomicUsize::new(0));
    let hook = |calls: &Arc<AtomicUsize>| {
        let calls = Arc::clone(calls);
        move |index: usize| {
            calls.fetch_add(1, Ordering::Relaxed);
            panic!("expected: hook {index} panics");
        }
    };
    let builder = Pool::builder().threads(3);
    let pool = builder.on_start(hook(&calls)).on_stop(hook(&calls)).build().unwrap();
    assert_eq!(thread_ids(&pool).len(), 3);
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    drop(pool);
    assert_eq!(calls.load(Ordering::Relaxed), 6);
}

#[test]
fn a_job_submitted_by_a_start_hook_runs() {
    for _ in 0..50 {
        let (ran, runs) = mpsc::channel();
        let hook = move |index| {
            let ran = ran.clone();
            let pool = Handle::current().expect("the hook runs on a worker");
            assert!(pool.try_execute(move || ran.send(index).unwrap()).is_ok());
        };
        let pool = Pool::builder().threads(3).prestart(3).on_start(hook).build().unwrap();
        let mut seen: Vec<usize> =
            (0..3).map(|_| runs.recv_timeout(Duration::from_secs(10)).unwrap()).collect();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2]);
        drop(pool);
    }
}

/// Whether it is accepted or not: nothing hangs, and an accepted job has an outcome.
#[test]
fn a_job_submitted_by_a_stop_hook_is_rejected_or_gets_an_outcome() {
    for _ in 0..50 {
        let jobs = Arc::new(Mutex::new(Vec::new()));
        let submitted = Arc::clone(&jobs);
        let hook = move |_| {
            if let Some(pool) = Handle::current() {
                submitted.lock().unwrap().push(pool.try_submit(|| ()));
            }
        };
        drop(Pool::builder().threads(3).on_stop(hook).build().unwrap());
        for job in jobs.lock().unwrap().drain(..).flatten() {
            assert!(job.is_finished(), "accepted and forgotten");
        }
    }
}

#[test]
fn a_slow_start_hook_delays_its_worker_only() {
    let gate = Gate::closed();
    let held = gate.clone();
    let hook = move |index| {
        if index == 0 {
            held.wait();
        }
    };
    let pool = Pool::builder().threads(2).on_start(hook).build().unwrap();
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    gate.open();
    assert_eq!(thread_ids(&pool).len(), 2);
}
