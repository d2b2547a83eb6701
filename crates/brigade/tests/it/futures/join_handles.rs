//! `JoinHandle` as a future, polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use brigade::{Cause, JoinError, JoinHandle, Pool, Shutdown};
use brigade_testkit::{Gate, OnDrop, WakeCounter, block_on, eventually, on_wake, test};

fn poll<T>(job: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(job).poll(&mut Context::from_waker(waker))
}

/// A job that waits for the gate, polled once with the bell's waker.
fn pending(pool: &Pool, gate: &Gate, bell: &Arc<WakeCounter>) -> JoinHandle<u32> {
    let gate = gate.clone();
    let mut job = pool.submit(move || {
        gate.wait();
        42
    });
    assert!(poll(&mut job, &Waker::from(Arc::clone(bell))).is_pending());
    job
}

#[test]
fn a_handle_can_be_awaited() {
    let pool = Pool::new(2);
    for n in 0..5000 {
        assert_eq!(block_on(pool.submit(move || n)).unwrap(), n);
    }
    let Err(JoinError::Panicked(panic)) = block_on(pool.submit(|| panic!("expected: await")))
    else {
        panic!("it panicked")
    };
    assert_eq!(panic.message(), Some("expected: await"));
    let both = async { pool.submit(|| 1).await.unwrap() + pool.submit(|| 2).await.unwrap() };
    assert_eq!(block_on(Box::pin(both)), 3);
}

#[test]
fn a_cancelled_job_wakes_its_awaiting_task() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let bell = Arc::new(WakeCounter::default());
    let mut job = pool.submit(|| 42);
    assert!(poll(&mut job, &Waker::from(Arc::clone(&bell))).is_pending());
    open_once_closed(&gate, pool.handle());
    pool.shutdown(Shutdown::Discard);
    assert_eq!(bell.wakes(), 1);
    assert!(matches!(block_on(job), Err(JoinError::Cancelled(Cause::Ended))));
}

#[test]
fn only_the_last_waker_is_woken() {
    let pool = Pool::new(1);
    for _ in 0..200 {
        let (gate, first, second) = (Gate::closed(), Arc::default(), Arc::<WakeCounter>::default());
        let mut job = pending(&pool, &gate, &first);
        assert!(poll(&mut job, &Waker::from(Arc::clone(&second))).is_pending());
        assert_eq!(Arc::strong_count(&first), 1, "a waker that was replaced is let go");
        gate.open();
        eventually("the second bell rings", || second.wakes() == 1);
        assert_eq!(first.wakes(), 0);
        assert_eq!(block_on(job).unwrap(), 42);
    }
}

/// What may be done with a handle that has been polled, and how often it is done here.
type Use = fn(JoinHandle<u32>, &Gate);
const USES: [(&str, u64, Use); 4] = [
    // The job finishes at any point of the second poll: the wake-up must not fall between wakers.
    ("awaited", 3000, |job, gate| {
        gate.open();
        assert_eq!(block_on(job).unwrap(), 42);
    }),
    ("joined", 200, |job, gate| {
        gate.open();
        assert_eq!(job.join().unwrap(), 42);
    }),
    ("dropped", 200, |job, gate| {
        drop(job);
        gate.open();
    }),
    ("polled by one thread, and awaited by another", 100, |mut job, gate| {
        let polls = thread::spawn(move || {
            assert!(poll(&mut job, Waker::noop()).is_pending());
            job
        });
        let job = polls.join().unwrap();
        let awaits = thread::spawn(move || block_on(job).unwrap());
        gate.open();
        assert_eq!(awaits.join().unwrap(), 42);
    }),
];

#[test((name, rounds, act) in USES)]
fn a_polled_handle_stays_usable_and_drops_its_waker(rounds: u64, act: Use) {
    let pool = Pool::new(1);
    for _ in 0..rounds {
        let (gate, bell) = (Gate::closed(), Arc::default());
        act(pending(&pool, &gate, &bell), &gate);
        pool.wait_idle();
        assert_eq!(Arc::strong_count(&bell), 1);
    }
    assert_eq!(pool.metrics().returned, rounds);
}

/// The waker holds the last reference to something whose drop calls the pool.
#[test]
fn a_wakers_drop_may_call_the_pool() {
    let (pool, drops) = (Pool::new(1), Arc::<AtomicUsize>::default());
    for round in 0..200 {
        let (gate, bell) = (Gate::closed(), Arc::default());
        let mut job = pending(&pool, &gate, &bell);
        let (handle, counted) = (pool.handle(), Arc::clone(&drops));
        let calls = OnDrop(move || {
            let _ = handle.try_submit(|| ()).map(JoinHandle::join);
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let waker = on_wake(move || _ = &calls);
        assert!(poll(&mut job, &waker).is_pending());
        drop(waker);
        gate.open();
        match round % 2 {
            0 => _ = job.join().unwrap(),
            _ => drop(job),
        }
        eventually("the waker is dropped", || drops.load(Ordering::Relaxed) == round + 1);
    }
}
