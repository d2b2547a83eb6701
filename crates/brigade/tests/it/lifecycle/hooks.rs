//! The start and stop hooks of a pool.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::support::roll_call::thread_ids;
use brigade::{Builder, Handle, Pool, Shutdown, current_worker};
use brigade_testkit::{Gate, Halt, OnDrop, eventually, test};

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
fn hooks_run_once_on_every_worker(threads: usize) {
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
fn panicking_hooks_are_contained() {
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
fn a_stop_hooks_job_is_rejected_or_has_an_outcome() {
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

/// A builder with all functions that a pool may have of its user. Each shares the value.
fn with_all_functions(value: &Arc<()>) -> Builder {
    let kept = || Arc::clone(value);
    let [name, start, stop, panic, outcome, stall, spawn] = [(); 7].map(|()| kept());
    let builder = Pool::builder().name(move |index| format!("{index}{}", Arc::strong_count(&name)));
    let builder = builder.on_start(move |_| _ = &start).on_stop(move |_| _ = &stop);
    let builder = builder.on_panic(move |_| _ = &panic).on_outcome(move |_| _ = &outcome);
    let builder = builder.on_stall(Duration::from_secs(3600), move |_| _ = &stall);
    builder.spawner(move |thread| {
        _ = &spawn;
        thread.start()
    })
}

/// Ends a pool, and returns whether the end has been waited for, with the pool if it is left.
type End = fn(Pool) -> (bool, Option<Pool>);

const ENDS: [(&str, End); 6] = [
    ("dropped", |pool| {
        drop(pool);
        (true, None)
    }),
    ("shut down", |pool| {
        pool.shutdown(Shutdown::Drain);
        (true, Some(pool))
    }),
    ("discarded", |pool| {
        pool.shutdown(Shutdown::Discard);
        (true, Some(pool))
    }),
    ("not waited for", |pool| {
        pool.shutdown(Shutdown::Drain.timeout(Duration::ZERO));
        (false, Some(pool))
    }),
    ("closed", |pool| {
        pool.close();
        (false, Some(pool))
    }),
    ("dropped by its own job", |pool| {
        let handle = pool.handle();
        handle.execute(move || drop(pool));
        (false, None)
    }),
];

/// Caught: they lived as long as a thread that had last used a handle of the pool, or a timer's handle.
#[test((how, end) in ENDS, first in [0, 1, 2])]
fn an_ended_pool_drops_its_users_functions(how: &str, end: End, first: usize) {
    let value = Arc::new(());
    let builder = with_all_functions(&value).threads(0..=2).prestart(first);
    let pool = builder.build().unwrap();
    assert_eq!(Arc::strong_count(&value), 8);
    let handle = pool.handle();
    let timer = pool.job().after(Duration::MAX).execute(|| ()).unwrap();
    if first > 0 {
        handle.execute(|| panic!("expected: of a job without a handle"));
        assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
    }
    let (is_waited_for, left) = end(pool);
    // This thread has used the handle last.
    let are_gone = || Arc::strong_count(&value) == 1;
    if !is_waited_for {
        eventually("they are gone", are_gone);
    }
    assert!(are_gone(), "{how}: {} are left", Arc::strong_count(&value) - 1);
    assert!(timer.is_over() && handle.try_execute(|| ()).is_err());
    drop(left);
}

#[test]
fn a_drop_off_the_pool_keeps_its_users_functions() {
    let (value, halt) = (Arc::new(()), Halt::default());
    let pool = with_all_functions(&value).threads(1).build().unwrap();
    let (gate, halts) = (Gate::closed(), halt.clone());
    pool.execute(gate.job());
    let capture = OnDrop(move || halts.here());
    let queued = pool.submit(move || drop(capture));
    let cancels = thread::spawn(move || queued.cancel());
    halt.await_thread();
    gate.open();
    pool.close();
    eventually("its thread ends", || pool.metrics().threads == 0);
    assert_eq!(Arc::strong_count(&value), 8);
    halt.release();
    assert!(cancels.join().unwrap());
    // The thread that looks for stalls drops its hook itself.
    eventually("they are gone", || Arc::strong_count(&value) == 1);
}
