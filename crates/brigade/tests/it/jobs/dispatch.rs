//! `dispatch`: a job for each idle thread at once; the rest is returned.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};

use crate::support::crowd::for_both_queueings;
use brigade::{Builder, Pool, Shutdown};
use brigade_testkit::{Gate, eventually, test};

/// Waits until all threads have started and found nothing to do.
fn all_idle(pool: &Pool) {
    eventually("all are idle", || pool.metrics().idle_threads == *pool.size().end());
}

#[test(for_both_queueings)]
fn dispatch_starts_a_job_per_idle_thread(builder: Builder) {
    let pool = builder.threads(3).prestart(3).build().unwrap();
    for _ in 0..200 {
        all_idle(&pool);
        let (together, (told, tells)) = (Arc::new(Barrier::new(4)), mpsc::channel());
        let jobs = (0..5).map(|number| {
            let (together, told) = (together.clone(), told.clone());
            move || {
                together.wait();
                told.send(number).unwrap();
            }
        });
        let back = pool.job().dispatch(jobs);
        assert_eq!(back.count(), 2);
        together.wait();
        drop((together, told));
        let mut ran: Vec<i32> = tells.iter().collect();
        ran.sort_unstable();
        assert_eq!(ran, [0, 1, 2], "the first ones");
    }
    pool.wait_idle();
    assert_eq!((pool.metrics().accepted, pool.metrics().returned), (600, 600));
}

#[test]
fn dispatch_ignores_the_capacity() {
    let (pool, gate) =
        (Pool::builder().threads(3).prestart(3).capacity(1).build().unwrap(), Gate::closed());
    all_idle(&pool);
    let held = [(); 3].map(|()| gate.clone()).map(|gate| move || gate.wait());
    assert_eq!(pool.job().dispatch(held).count(), 0);
    pool.try_execute(|| ()).expect("none of them has the only place");
    gate.open();
}

#[test]
fn threads_not_yet_started_are_not_idle() {
    let pool = Pool::builder().threads(0..=2).build().unwrap();
    assert_eq!(pool.job().dispatch([|| ()]).count(), 1);
    assert_eq!(pool.metrics().threads, 0);
}

#[test(for_both_queueings)]
fn a_draining_pool_takes_no_dispatch(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    let (gate, handle) = (Gate::closed(), pool.handle());
    let held = gate.clone();
    pool.execute(move || held.wait());
    eventually("the other one is idle", || pool.metrics().idle_threads == 1);
    handle.close();
    assert_eq!(handle.job().dispatch([|| ()]).count(), 1);
    gate.open();
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test(for_both_queueings)]
fn a_job_dispatches_to_idle_peers(builder: Builder) {
    let pool = builder.threads(3).prestart(3).build().unwrap();
    all_idle(&pool);
    let handle = pool.handle();
    let met = pool.submit(move || {
        let together = Arc::new(Barrier::new(3));
        let mut left: Vec<_> = (0..2)
            .map(|_| {
                let together = together.clone();
                move || _ = together.wait()
            })
            .collect();
        // The other threads may be just starting.
        while !left.is_empty() {
            left = handle.job().dispatch(left).collect();
        }
        together.wait();
        true
    });
    assert!(met.join().unwrap());
}

#[test(for_both_queueings)]
fn a_panicking_iterator_dispatches_nothing(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    all_idle(&pool);
    let jobs = (0..2).map(|number| {
        assert!(number == 0, "expected: no more");
        || unreachable!("handed over")
    });
    assert!(panic::catch_unwind(AssertUnwindSafe(|| pool.job().dispatch(jobs).count())).is_err());
    assert_eq!(pool.metrics().accepted, 0);
    assert_eq!(pool.job().dispatch([|| (), || ()]).count(), 0, "all are there again");
}

#[test(for_both_queueings)]
fn an_iterator_may_submit_and_dispatch(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    all_idle(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = || {
        let ran = ran.clone();
        move || _ = ran.fetch_add(1, Ordering::SeqCst)
    };
    let jobs = (0..2).map(|_| {
        pool.execute(count());
        pool.job().dispatch([count()]).for_each(|job| job());
        count()
    });
    pool.job().dispatch(jobs).for_each(|job| job());
    eventually("all have run", || ran.load(Ordering::SeqCst) == 6);
}

#[test(for_both_queueings)]
fn an_iterator_is_asked_only_for_idle_threads(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    all_idle(&pool);
    let mut asked = 0;
    let jobs = std::iter::repeat_with(|| {
        asked += 1;
        pool.submit(|| ()).join().unwrap();
        || ()
    });
    // It has no end.
    drop(pool.job().dispatch(jobs));
    assert_eq!(asked, 2);
}

#[test(for_both_queueings)]
fn a_dispatched_panic_is_counted_and_contained(builder: Builder) {
    let pool = builder.threads(1).prestart(1).build().unwrap();
    for _ in 0..3 {
        all_idle(&pool);
        assert_eq!(pool.job().dispatch([|| panic!("expected: dispatched")]).count(), 0);
    }
    all_idle(&pool);
    assert_eq!((pool.metrics().accepted, pool.metrics().panicked), (3, 3));
}

/// A lone child of a job that keeps its worker: one of the sleepers watches for it, until that one is handed a job.
#[test]
fn a_dispatch_to_the_searcher_strands_no_lone_child() {
    let pool = Pool::builder().threads(3).prestart(3).build().unwrap();
    for _ in 0..300 {
        all_idle(&pool);
        let (done, gate) = (Gate::closed(), Gate::closed());
        let (child, hold) = (done.clone(), gate.clone());
        pool.execute(move || {
            brigade::execute(move || child.open());
            hold.wait();
        });
        let hold = gate.clone();
        pool.job().dispatch([move || hold.wait()]).for_each(drop);
        done.wait();
        gate.open();
    }
}
