//! Cancelling futures: where they are dropped, and that pool and handle report the same outcome.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use crate::support::busy::occupy;
use brigade::{Cause, JoinError, JoinHandle, Pool, block_on, yield_now};
use brigade_testkit::{Drops, Gate, Latch, OnDrop, Seed, eventually, test};

#[test]
fn a_cancelled_future_drops_after_its_poll() {
    let pool = Pool::new(1);
    for ready in [false, true] {
        let (begun, begins) = mpsc::channel();
        let (gate, drops, latch) = (Gate::closed(), Drops::default(), Latch::default());
        let (inner, token, waits) = (gate.clone(), drops.token(), latch.wait());
        let job = pool.spawn(async move {
            let _token = token;
            begun.send(brigade::cancelled()).unwrap();
            inner.wait();
            begun.send(brigade::cancelled()).unwrap();
            if !ready {
                waits.await;
            }
        });
        assert_eq!(begins.recv(), Ok(false));
        assert!(job.cancel());
        assert!(!job.is_finished());
        assert_eq!(drops.count(), 0);
        gate.open();
        assert_eq!(begins.recv(), Ok(true), "it may look");
        assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Asked))));
        assert_eq!(drops.count(), 1);
    }
    pool.wait_idle();
    assert_eq!((pool.metrics().cancelled, pool.metrics().returned), (2, 0));
}

/// Row 61: by itself, and from the drop of another.
#[test]
fn a_future_may_be_cancelled_from_anywhere() {
    let (pool, latch, drops) = (Pool::new(1), Latch::default(), Drops::default());
    let (send, receive) = mpsc::channel::<JoinHandle<()>>();
    let (receive, token) = (Mutex::new(receive), drops.token());
    let itself = pool.spawn(async move {
        let _token = &token;
        let job = receive.lock().unwrap().recv().unwrap();
        assert!(job.cancel());
        yield_now().await;
        unreachable!("cancelled");
    });
    send.send(itself).unwrap();
    eventually("it is dropped", || drops.count() == 1);
    let token = drops.token();
    let waits = latch.wait();
    let first = pool.spawn(async move {
        waits.await;
        drop(token);
    });
    let (second, waits) = (OnDrop(move || _ = first.cancel()), latch.wait());
    let second = pool.spawn(async move {
        waits.await;
        drop(second);
    });
    eventually("both wait", || latch.waiting() == 2);
    assert!(second.cancel());
    eventually("the first is dropped", || drops.count() == 2);
    pool.wait_idle();
    assert_eq!(pool.metrics().cancelled, 3);
}

/// What a future of the product does when it is polled for the second time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    panics_in_poll: bool,
    panics_in_drop: bool,
    panics_in_output: bool,
    /// When the handle is dropped: before the first poll, while it waits, after it has ended, or never (joined).
    handle: Point,
    /// When it is cancelled.
    cancel: Point,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Point {
    BeforeThePoll,
    WhileItWaits,
    WithTheEnd,
    AfterTheEnd,
    Never,
}

/// Counts its drop, and may panic at that.
struct Bomb(Arc<AtomicUsize>, bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        if self.1 && !thread::panicking() {
            panic!("expected: a bomb");
        }
    }
}

/// Row 56: every way a future may end, beside every time at which it is cancelled or its handle dropped.
#[test(120)]
fn every_cancel_gives_one_outcome_and_one_drop() {
    use Point::*;
    let pools = [Pool::new(1), Pool::new(2)];
    for bits in 0..8 {
        for handle in [BeforeThePoll, WhileItWaits, AfterTheEnd, Never] {
            for cancel in [BeforeThePoll, WhileItWaits, WithTheEnd, AfterTheEnd, Never] {
                let case = Case {
                    panics_in_poll: bits & 1 != 0,
                    panics_in_drop: bits & 2 != 0,
                    panics_in_output: bits & 4 != 0,
                    handle,
                    cancel,
                };
                pools.iter().for_each(|pool| run(pool, case));
            }
        }
    }
}

fn run(pool: &Pool, case: Case) {
    let before = pool.metrics();
    let (gate, latch) = (Gate::closed(), Latch::default());
    let (futures, outputs) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    occupy(pool, &gate);
    let captured = Bomb(futures.clone(), case.panics_in_drop);
    let (waits, output) = (latch.wait(), (outputs.clone(), case.panics_in_output));
    let block = async move {
        waits.await;
        assert!(!case.panics_in_poll, "expected: in a poll");
        Bomb(output.0, output.1)
    };
    // Beside the block, so that it is dropped with the future and not by the last poll.
    let mut block = Box::pin(block);
    let mut job = Some(pool.spawn(poll_fn(move |context| {
        let _captured = &captured;
        block.as_mut().poll(context)
    })));
    let mut cancelled = false;
    let mut at = |point: Point, job: &mut Option<JoinHandle<Bomb>>| {
        if case.cancel == point {
            cancelled |= job.as_ref().is_some_and(JoinHandle::cancel);
        }
        if case.handle == point {
            drop(job.take());
        }
    };
    at(Point::BeforeThePoll, &mut job);
    gate.open();
    pool.wait_idle();
    at(Point::WhileItWaits, &mut job);
    if case.cancel == Point::WithTheEnd {
        let barrier = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                latch.open();
            });
            barrier.wait();
            at(Point::WithTheEnd, &mut job);
        });
    }
    latch.open();
    pool.wait_idle();
    at(Point::AfterTheEnd, &mut job);
    let outcome = job.take().map(JoinHandle::join);
    pool.wait_idle();
    assert_eq!(futures.load(Ordering::SeqCst), 1, "drops of the future, {case:?}");
    let after = pool.metrics();
    let (returned, panicked, ended_cancelled) = (
        after.returned - before.returned - *pool.size().end() as u64,
        after.panicked - before.panicked,
        after.cancelled - before.cancelled,
    );
    assert_eq!(returned + panicked + ended_cancelled, 1, "{case:?}");
    assert_eq!(ended_cancelled == 1, cancelled, "both agree, {case:?}");
    match &outcome {
        None => {}
        Some(Ok(_)) => assert_eq!(returned, 1, "{case:?}"),
        Some(Err(JoinError::Panicked(_))) => assert_eq!(panicked, 1, "{case:?}"),
        Some(Err(_)) => assert_eq!(ended_cancelled, 1, "{case:?}"),
    }
    let made = outputs.load(Ordering::SeqCst);
    match outcome {
        Some(Ok(output)) => {
            assert_eq!(made, 0, "{case:?}");
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(output))));
        }
        _ => assert!(made <= 1, "{case:?}"),
    }
}

/// Row 60 with threads: canceller, worker and waiting thread agree on the outcome.
#[test]
fn a_cancel_beside_the_end_has_one_winner() {
    let (pool, mut seed) = (Pool::new(2), Seed::printed());
    let (mut won, mut lost) = (0, 0);
    for _ in 0..3000 {
        let latch = Latch::default();
        let job = pool.spawn(latch.wait());
        let delay = seed.micros(20);
        let opener = pool.submit(move || {
            brigade_testkit::spin_for(delay);
            latch.open();
        });
        brigade_testkit::spin_for(seed.micros(20));
        let cancelled = job.cancel();
        match block_on(job) {
            Ok(()) => {
                assert!(!cancelled);
                lost += 1;
            }
            Err(JoinError::Cancelled(Cause::Asked)) => {
                assert!(cancelled);
                won += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
        opener.join().unwrap();
    }
    pool.wait_idle();
    let metrics = pool.metrics();
    assert_eq!((metrics.cancelled, metrics.returned), (won, lost + 3000));
}
