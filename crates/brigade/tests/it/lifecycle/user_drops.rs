//! Drops of what a job holds run without any lock of the pool's, and may call it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::policy::queue_kinds;
use brigade::{Cause, Handle, JoinError, JoinHandle, Pool, Shutdown};
use brigade_testkit::{Gate, OnDrop, test};

/// Queues `jobs` jobs that hold what `capture` makes, and discards them.
fn discard_with<C, D>(pool: Pool, jobs: usize, capture: C)
where
    C: Fn(Handle) -> D,
    D: Send + 'static,
{
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let mut handles = Vec::new();
    for n in 0..jobs {
        let held = capture(pool.handle());
        let job = move || drop(held);
        if n % 2 == 0 {
            handles.push(pool.submit(job));
        } else {
            pool.execute(job);
        }
    }
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!((report.discarded, report.still_running), (jobs as u64, 0));
    for mut job in handles {
        assert!(matches!(job.try_join(), Some(Err(JoinError::Cancelled(Cause::Ended)))));
    }
}

#[test((kind, pool) in queue_kinds(2))]
fn a_discarded_closures_drop_gets_its_job_back(pool: Pool) {
    let (sender, refusals) = mpsc::channel();
    discard_with(pool, 50, move |pool| {
        let refused = sender.clone();
        OnDrop(move || {
            let _ =
                refused.send(pool.try_execute(|| ()).is_err() && pool.try_submit(|| ()).is_err());
        })
    });
    assert_eq!(refusals.iter().collect::<Vec<_>>(), [true; 50]);
}

#[test((kind, pool) in queue_kinds(2))]
fn a_discarded_closures_drop_may_take_a_lock(pool: Pool) {
    let counted = Arc::new(Mutex::new(0));
    for _ in 0..10 {
        let counted = Arc::clone(&counted);
        pool.execute(move || *counted.lock().unwrap() += 1);
    }
    pool.wait_idle();
    let shared = Arc::clone(&counted);
    discard_with(pool, 50, move |pool| {
        let counted = Arc::clone(&shared);
        OnDrop(move || {
            let mut count = counted.lock().unwrap();
            assert!(pool.metrics().is_closed);
            *count += 1;
        })
    });
    assert_eq!(*counted.lock().unwrap(), 60);
}

#[test((kind, pool) in queue_kinds(2))]
fn a_discarded_closures_panic_takes_no_other(pool: Pool) {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&drops);
    discard_with(pool, 50, move |_| {
        let drops = Arc::clone(&counted);
        OnDrop(move || {
            drops.fetch_add(1, Ordering::Relaxed);
            panic!("expected: a discarded capture");
        })
    });
    assert_eq!(drops.load(Ordering::Relaxed), 50);
}

/// The dropped closure owns the handle of another queued job, before or behind it, and waits.
#[test(waits_for_older in [true, false], (kind, pool) in queue_kinds(1))]
fn a_discarded_closures_drop_may_join_another(waits_for_older: bool, pool: Pool) {
    let (gate, (told, tells)) = (Gate::closed(), mpsc::channel());
    occupy(&pool, &gate);
    let awaited = Arc::new(Mutex::new(None::<JoinHandle<()>>));
    let inner = Arc::clone(&awaited);
    let waits = OnDrop(move || {
        let mut job = inner.lock().unwrap().take().unwrap();
        // A limit, so that a deadlock fails this test and not all of them.
        let outcome = job.join_timeout(Duration::from_secs(2));
        told.send(matches!(outcome, Some(Err(JoinError::Cancelled(Cause::Ended))))).unwrap();
    });
    if waits_for_older {
        *awaited.lock().unwrap() = Some(pool.submit(|| ()));
    }
    pool.execute(move || drop(waits));
    if !waits_for_older {
        *awaited.lock().unwrap() = Some(pool.submit(|| ()));
    }
    open_once_closed(&gate, pool.handle());
    assert_eq!(pool.shutdown(Shutdown::Discard).discarded, 2);
    assert_eq!(tells.recv().ok(), Some(true), "older {waits_for_older}");
}

#[test((kind, pool) in queue_kinds(2))]
fn a_discarded_closure_may_own_a_pool(pool: Pool) {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    discard_with(pool, 10, move |_| {
        let (inner, counted) = (Pool::new(1), Arc::clone(&counted));
        inner.execute(move || _ = counted.fetch_add(1, Ordering::Relaxed));
        inner
    });
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

/// S16: this pushed into a dying queue in `executors`.
#[test((kind, pool) in queue_kinds(2))]
fn a_capture_may_submit_in_its_drop(pool: Pool) {
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let (counted, handle) = (Arc::clone(&ran), pool.handle());
        let capture = OnDrop(move || {
            let counted = Arc::clone(&counted);
            handle.execute(move || _ = counted.fetch_add(1, Ordering::Relaxed));
        });
        pool.execute(move || drop(capture));
    }
    drop(pool);
    assert_eq!(ran.load(Ordering::Relaxed), 200);
}

/// The iterator runs user code too: it may use the pool it feeds.
#[test((kind, pool) in queue_kinds(2))]
fn a_batchs_iterator_may_submit_and_panic(pool: Pool) {
    let ran = Arc::new(AtomicUsize::new(0));
    let job = || {
        let ran = Arc::clone(&ran);
        move || _ = ran.fetch_add(1, Ordering::Relaxed)
    };
    pool.job()
        .execute_batch((0..100).map(|_| {
            pool.execute(job());
            job()
        }))
        .unwrap();
    pool.wait_idle();
    assert_eq!(ran.load(Ordering::Relaxed), 200);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.job()
            .execute_batch((0..100).map(|n| {
                assert!(n < 50, "expected: the iterator panics");
                job()
            }))
            .unwrap();
    }));
    assert!(unwound.is_err());
    pool.wait_idle();
    let sums = pool.metrics();
    assert_eq!(sums.returned, ran.load(Ordering::Relaxed) as u64);
    assert!(sums.returned <= 250);
    drop(pool);
    assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
}
