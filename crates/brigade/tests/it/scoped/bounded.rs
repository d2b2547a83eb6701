//! Bounded pools: what borrows takes no permit, and is not dropped for what does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::full::{POLICIES, at_rest, busy, fill, full};
use brigade::{Pool, WhenFull};
use brigade_testkit::{eventually, test};

/// The only thread is busy until the last of them has been added: nothing runs in the caller, or waits there for room.
#[test(policy in POLICIES)]
fn a_scope_adds_jobs_beyond_the_capacity(policy: WhenFull) {
    let (pool, gate) = full(Pool::builder(), 2, policy);
    let (ran, here) = (AtomicUsize::new(0), thread::current().id());
    let count = || ran.fetch_add(usize::from(thread::current().id() != here), Ordering::Relaxed);
    pool.in_place_scope(|s| {
        let handles: Vec<_> = (0..100).map(|_| s.spawn(async { count() })).collect();
        (0..100).for_each(|_| drop(s.spawn(async { count() })));
        (0..100).for_each(|_| s.execute(|| _ = count()));
        gate.open();
        handles.into_iter().for_each(|handle| _ = handle.join().unwrap());
    })
    .unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 300);
    // From a job of the pool, which is full again.
    pool.scope(|s| {
        fill(&pool);
        let handles: Vec<_> = (0..100).map(|_| s.spawn(async { count() })).collect();
        (0..100).for_each(|_| s.execute(|| _ = count()));
        assert_eq!(ran.load(Ordering::Relaxed), 300, "none runs at once");
        handles.into_iter().for_each(|handle| _ = handle.join().unwrap());
    })
    .unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 500);
    at_rest(&pool);
}

#[test]
fn borrowing_jobs_are_never_evicted() {
    let (pool, gate) = busy(Pool::builder(), 2, WhenFull::DropOldest);
    let ran = AtomicUsize::new(0);
    let (pool, ran) = (&pool, &ran);
    thread::scope(|t| {
        let installed = t.spawn(|| pool.install(|| 42).unwrap());
        eventually("it is queued", || pool.metrics().queued == 1);
        pool.in_place_scope(|s| {
            (0..10).for_each(|_| s.execute(|| _ = ran.fetch_add(1, Ordering::Relaxed)));
            (0..10).for_each(|_| drop(s.spawn(async { ran.fetch_add(1, Ordering::Relaxed) })));
            // More than there is room for.
            (0..10).for_each(|_| pool.execute(|| ()));
            gate.open();
        })
        .unwrap();
        assert_eq!(installed.join().unwrap(), 42);
    });
    assert_eq!(ran.load(Ordering::Relaxed), 20);
    let [accepted, returned, panicked, cancelled, evicted] = at_rest(pool);
    assert_eq!([accepted, returned, panicked, cancelled, evicted], [32, 24, 0, 8, 8]);
    pool.try_execute(|| ()).unwrap();
}
