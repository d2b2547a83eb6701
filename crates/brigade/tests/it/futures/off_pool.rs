//! Futures that are polled, dropped or woken where their pool has no thread for them, or is about to end.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::support::busy::open_once_closed;
use crate::support::full::{at_rest, busy, full};
use brigade::{Cause, JoinError, JoinHandle, NewThread, Pool, Shutdown, WhenFull};
use brigade_testkit::{Drops, Gate, Latch, eventually, test};

/// Caught: each drop wakes the next future and drops it right there, 20,000 frames deep.
#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn a_chain_of_waiting_futures_drops_in_a_loop(how: Shutdown) {
    const LENGTH: usize = 20_000;
    let (pool, drops) = (Pool::new(2), Drops::default());
    let mut last = None::<JoinHandle<()>>;
    for _ in 0..LENGTH {
        let (before, token) = (last.take(), drops.token());
        last = Some(pool.spawn(async move {
            match before {
                Some(before) => drop(before.await),
                None => pending().await,
            }
            drop(token);
        }));
    }
    pool.wait_idle();
    let report = pool.shutdown(how);
    assert_eq!((drops.count(), report.still_running), (LENGTH, 0));
    assert!(matches!(last.unwrap().join(), Err(JoinError::Cancelled(Cause::Ended))));
}

/// Caught: the thread waits for the future that it is in.
#[test]
fn a_future_run_by_its_caller_may_end_the_pool() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let handle = pool.handle();
    open_once_closed(&gate, pool.handle());
    let job = handle.spawn(async move { pool.shutdown(Shutdown::Drain) });
    let report = job.join().unwrap();
    assert_eq!((report.ran, report.still_running), (2, 1), "itself");
}

/// The same where it is dropped by the thread that wakes it too late.
#[test]
fn a_future_dropped_by_its_waker_may_own_its_pool() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let (handle, latch) = (pool.handle(), Latch::default());
    let (waits, inner) = (latch.wait(), handle);
    let pool = Arc::new(pool);
    let owner = pool.clone();
    let caller = thread::spawn(move || {
        inner.spawn(async move {
            owner.close();
            gate.open();
            eventually("its threads go", || owner.metrics().threads == 0);
            drop(pool);
            waits.await;
            drop(owner);
        })
    });
    // The pool had ended when its future came to wait.
    let job = caller.join().unwrap();
    assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended))));
    assert!(handle.metrics().is_closed);
    assert!(latch.take_wakers().into_iter().all(|waker| {
        waker.wake();
        true
    }));
}

/// Caught: the end was waited for without a limit, once the workers had left.
#[test(pends in [false, true])]
fn a_shutdown_awaits_a_foreign_poll_until_its_timeout(pends: bool) {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let (handle, held, drops) = (pool.handle(), Gate::closed(), Drops::default());
    let (inner, token, (begun, begins)) = (held.clone(), drops.token(), mpsc::channel());
    let caller = thread::spawn(move || {
        handle.spawn(async move {
            begun.send(()).unwrap();
            inner.wait();
            if pends {
                pending::<()>().await;
            }
            drop(token);
        })
    });
    begins.recv().unwrap();
    gate.open();
    let (timeout, start) = (Duration::from_millis(30), Instant::now());
    let report = pool.shutdown(Shutdown::Drain.timeout(timeout));
    assert!(start.elapsed() >= timeout);
    assert_eq!((report.ran, report.still_running), (2, 1));
    held.open();
    let outcome = caller.join().unwrap().join();
    assert_eq!(matches!(outcome, Err(JoinError::Cancelled(Cause::Ended))), pends);
    assert_eq!(drops.count(), 1);
}

/// A pool that has no worker, whose spawner fails as long as the flag says so and calls what it is given.
fn deserted(fails: &Arc<AtomicBool>, call: impl Fn() + Send + Sync + 'static) -> Pool {
    let fails = fails.clone();
    let spawner = move |thread: NewThread| {
        call();
        match fails.load(Ordering::SeqCst) {
            false => thread.start(),
            true => Err(io::Error::other("expected: no thread today")),
        }
    };
    let builder = Pool::builder().threads(0..=1).keep_alive(Duration::from_micros(1));
    builder.spawner(spawner).build().unwrap()
}

/// Caught: it was dropped, although it had not been cancelled.
#[test]
fn a_wake_without_a_thread_waits_for_the_next() {
    let fails = Arc::new(AtomicBool::new(false));
    let (pool, latch) = (deserted(&fails, || ()), Latch::default());
    let mut job = pool.spawn(latch.wait());
    eventually("its thread goes", || latch.waiting() == 1 && pool.metrics().threads == 0);
    fails.store(true, Ordering::SeqCst);
    latch.open();
    assert!(!job.is_finished());
    assert_eq!((pool.metrics().queued, pool.metrics().running), (1, 0));
    fails.store(false, Ordering::SeqCst);
    // A submission must start a thread.
    pool.execute(|| ());
    assert!(matches!(job.join_timeout(Duration::from_secs(10)), Some(Ok(()))));
}

/// The same without a submission: the end of the pool starts a thread, or drops it.
#[test(failing in [false, true])]
fn a_threadless_end_polls_or_drops_woken_futures(failing: bool) {
    let fails = Arc::new(AtomicBool::new(false));
    let (pool, latch) = (deserted(&fails, || ()), Latch::default());
    let job = pool.spawn(latch.wait());
    eventually("its thread goes", || latch.waiting() == 1 && pool.metrics().threads == 0);
    fails.store(true, Ordering::SeqCst);
    latch.open();
    fails.store(failing, Ordering::SeqCst);
    let report = pool.shutdown(Shutdown::Drain);
    let ran = u64::from(!failing);
    assert_eq!((report.ran, report.discarded, report.still_running), (ran, 1 - ran, 0));
    assert_eq!(job.join().is_ok(), !failing);
}

/// Caught: it was left to the end of the pool, which waited for it.
#[test]
fn a_closed_threadless_pool_drops_woken_futures() {
    let fails = Arc::new(AtomicBool::new(false));
    let (pool, latch) = (deserted(&fails, || ()), Latch::default());
    let job = pool.spawn(latch.wait());
    eventually("its thread goes", || latch.waiting() == 1 && pool.metrics().threads == 0);
    fails.store(true, Ordering::SeqCst);
    let handle = pool.handle();
    let end = thread::spawn(move || pool.shutdown(Shutdown::Finish));
    eventually("it is closed", || handle.metrics().is_closed);
    latch.open();
    let report = end.join().unwrap();
    assert_eq!((report.ran, report.discarded, report.still_running), (0, 1, 0));
    assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended))));
}

#[test]
fn a_spawner_may_wake_futures() {
    let (fails, latch) = (Arc::new(AtomicBool::new(false)), Latch::default());
    let (opens, wakes) = (latch.clone(), Arc::new(AtomicBool::new(false)));
    let armed = wakes.clone();
    let pool = deserted(&fails, move || {
        if armed.load(Ordering::SeqCst) {
            opens.open();
        }
    });
    let job = pool.spawn(latch.wait());
    eventually("its thread goes", || latch.waiting() == 1 && pool.metrics().threads == 0);
    wakes.store(true, Ordering::SeqCst);
    // The thread that this starts finds the future too.
    pool.execute(|| ());
    job.join().unwrap();
}

#[test(policy in [WhenFull::DropOldest, WhenFull::DropNewest])]
fn a_future_dropped_for_room_counts_once(policy: WhenFull) {
    let (pool, gate) = busy(Pool::builder(), 1, policy);
    let oldest = pool.spawn(async { 1 });
    let newest = pool.spawn(async { 2 });
    let (dropped, kept) = match policy {
        WhenFull::DropOldest => (oldest, newest),
        _ => (newest, oldest),
    };
    assert!(matches!(dropped.join(), Err(JoinError::Cancelled(Cause::Evicted))));
    gate.open();
    kept.join().unwrap();
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 1]);
}

/// Caught: a woken future was taken out and put back, again and again, before the job that lies in another injector.
#[test]
fn woken_futures_hide_no_job_from_eviction() {
    let builder = Pool::builder().threads(1).capacity(1).when_full(WhenFull::DropOldest);
    let (pool, gate) = (builder.build().unwrap(), Gate::closed());
    let latches = [(); 8].map(|()| Latch::default());
    let jobs = latches.each_ref().map(|latch| {
        let job = pool.spawn(latch.wait());
        // Before the next, which would drop it.
        eventually("it waits", || latch.waiting() == 1);
        job
    });
    crate::support::busy::occupy(&pool, &gate);
    let in_a_thread =
        |call: &(dyn Fn() + Sync)| thread::scope(|scope| _ = scope.spawn(call).join());
    latches.iter().for_each(|latch| in_a_thread(&|| latch.open()));
    // Each thread has an injector of its own, and drops what the one before has queued.
    (0..16).for_each(|_| in_a_thread(&|| pool.execute(|| ())));
    gate.open();
    for job in jobs {
        job.join().unwrap();
    }
    assert_eq!(at_rest(&pool), [25, 10, 0, 15, 15]);
}

/// Waits begin and time out at the same time, in a pool that is open or closed.
#[test]
fn a_wake_beside_waits_and_the_close_is_polled() {
    for _ in 0..100 {
        let (pool, gate, latches) =
            (Pool::new(2), Gate::closed(), [(); 8].map(|()| Latch::default()));
        let inner = gate.clone();
        pool.execute(move || inner.wait());
        let jobs: Vec<_> = latches.iter().map(|latch| pool.spawn(latch.wait())).collect();
        eventually("all wait", || latches.iter().all(|latch| latch.waiting() == 1));
        let jobs = Mutex::new(jobs);
        thread::scope(|scope| {
            scope.spawn(|| {
                (0..20).for_each(|_| _ = pool.wait_idle_timeout(Duration::from_micros(50)))
            });
            scope.spawn(|| pool.close());
            for latch in &latches {
                latch.wake_all();
                latch.open();
            }
        });
        // As long as a job runs, a future that is woken is polled.
        for job in jobs.into_inner().unwrap() {
            job.join().unwrap();
        }
        gate.open();
        assert_eq!(at_rest(&pool), [9, 9, 0, 0, 0]);
    }
}
