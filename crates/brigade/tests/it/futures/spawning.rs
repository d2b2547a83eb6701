//! Futures on a pool: their handles, and the counters.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};

use crate::support::busy::occupy;
use crate::support::policy::queue_kinds;
use brigade::{Pool, Reason, WhenFull, block_on, yield_now};
use brigade_testkit::{Drops, Gate, Latch, eventually, test};

#[test((kind, pool) in queue_kinds(2))]
fn a_spawned_future_returns_its_output(pool: Pool) {
    for n in 0..500 {
        let (latch, other) = (Latch::default(), Latch::default());
        let future = {
            let (latch, other) = (latch.clone(), other.clone());
            async move {
                latch.wait().await;
                other.open();
                n
            }
        };
        let job = pool.spawn(future);
        latch.open();
        if n % 2 == 0 {
            assert_eq!(job.join().unwrap(), n);
        } else {
            assert_eq!(block_on(job).unwrap(), n);
        }
    }
    pool.wait_idle();
    let metrics = pool.metrics();
    assert_eq!((metrics.accepted, metrics.returned), (500, 500));
    assert_eq!((metrics.queued, metrics.running), (0, 0));
}

/// A thousand wakes, from outside and from inside: one job accepted, and never more than that to be seen.
#[test((kind, pool) in queue_kinds(2))]
fn any_number_of_wakes_is_one_job(pool: Pool) {
    let latch = Latch::default();
    let woken_from_outside = pool.spawn(latch.wait());
    let woken_from_inside = pool.spawn(async {
        for _ in 0..1000 {
            yield_now().await;
        }
    });
    for _ in 0..1000 {
        (0..10).for_each(|_| latch.wake_all());
        let metrics = pool.metrics();
        assert!(metrics.accepted <= 2, "{} accepted", metrics.accepted);
        assert!(metrics.queued <= 2, "{} queued", metrics.queued);
    }
    woken_from_inside.join().unwrap();
    latch.open();
    woken_from_outside.join().unwrap();
    pool.wait_idle();
    let metrics = pool.metrics();
    assert_eq!((metrics.accepted, metrics.returned, metrics.running), (2, 2, 0));
}

#[test]
fn a_full_pool_returns_only_new_futures() {
    let builder = Pool::builder().threads(1).capacity(1).when_full(WhenFull::Reject);
    let (pool, latch, gate) = (builder.build().unwrap(), Latch::default(), Gate::closed());
    let waits = pool.spawn(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    occupy(&pool, &gate);
    let queued = pool.spawn(async { 1 });
    assert_eq!(pool.handle().try_spawn(async { 2 }).unwrap_err().reason(), Reason::Full);
    latch.open();
    gate.open();
    waits.join().unwrap();
    assert_eq!(queued.join().unwrap(), 1);
    pool.wait_idle();
    assert_eq!(pool.metrics().accepted, 3);
}

#[test]
fn a_full_run_in_caller_pool_polls_the_future_here() {
    let builder = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller);
    let (pool, gate) = (builder.build().unwrap(), Gate::closed());
    occupy(&pool, &gate);
    pool.execute(|| ());
    let (polled, polls) = mpsc::channel();
    let job = pool.spawn(async move {
        polled.send(std::thread::current().id()).unwrap();
        yield_now().await;
        polled.send(std::thread::current().id()).unwrap();
    });
    assert_eq!(polls.try_recv(), Ok(std::thread::current().id()));
    gate.open();
    job.join().unwrap();
    assert_ne!(polls.recv(), Ok(std::thread::current().id()));
}

/// Row 67: the futures that the iterator had yielded by then run.
#[test]
fn futures_before_an_iterators_panic_run() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let tokens = (0..10).map(|n| {
        assert!(n < 7, "expected: the iterator panics");
        drops.token()
    });
    let spawn_all = || tokens.for_each(|token| drop(pool.spawn(async move { drop(token) })));
    assert!(std::panic::catch_unwind(AssertUnwindSafe(spawn_all)).is_err());
    pool.wait_idle();
    assert_eq!((drops.count(), pool.metrics().returned), (7, 7));
    assert_eq!(pool.spawn(async { 42 }).join().unwrap(), 42);
}

/// Row 70: a poll after the end affects only the caller.
#[test]
fn a_poll_of_an_ended_future_fails_alone() {
    struct Twice<F>(Pin<Box<F>>);
    impl<F: Future> Future for Twice<F> {
        type Output = F::Output;
        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let _ = self.0.as_mut().poll(context);
            self.0.as_mut().poll(context)
        }
    }
    let pool = Pool::new(1);
    let after = Twice(Box::pin(async { 42 }));
    // The compiler words that panic.
    let quietly = async { std::panic::catch_unwind(AssertUnwindSafe(|| block_on(after))).is_err() };
    assert!(pool.spawn(quietly).join().unwrap());
    assert_eq!(pool.spawn(async { 43 }).join().unwrap(), 43);
}

#[test]
fn a_large_future_moves_only_at_its_spawn() {
    let pool = Pool::builder().threads(1).stack_size(256 * 1024).build().unwrap();
    let thread = std::thread::Builder::new().stack_size(128 << 20).spawn(move || {
        let large = [1_u8; 1 << 20];
        let job = pool.spawn(async move {
            yield_now().await;
            let sum = large.iter().map(|&byte| u32::from(byte)).sum::<u32>();
            yield_now().await;
            sum + u32::from(large[7])
        });
        assert_eq!(job.join().unwrap(), (1 << 20) + 1);
    });
    thread.unwrap().join().unwrap();
}
