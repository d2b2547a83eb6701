//! Wakers of futures, called by any thread at any time, and other wakers that wait for a future.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::support::busy::held;
use crate::support::policy::queue_kinds;
use crate::support::roll_call::thread_ids;
use brigade::{Cause, JoinError, JoinHandle, Pool, Shutdown};
use brigade_testkit::{Drops, Gate, Latch, OnDrop, at_exit, eventually, on_wake, test};

fn poll<T>(job: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(job).poll(&mut Context::from_waker(waker))
}

/// A closure or a future that waits for the call.
fn waits(pool: &Pool, is_future: bool) -> (JoinHandle<()>, Box<dyn Fn()>) {
    if is_future {
        let latch = Latch::default();
        return (pool.spawn(latch.wait()), Box::new(move || latch.open()));
    }
    let gate = Gate::closed();
    (held(pool, &gate), Box::new(move || gate.open()))
}

/// Row 58: from several threads, a worker among them, many thousand times; it is polled by one thread at a time and is on a
/// queue at most once.
#[test((kind, pool) in queue_kinds(2))]
fn concurrent_wakes_queue_a_future_once(pool: Pool) {
    let (latch, polls, inside) =
        (Latch::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (mut waits, counted) = (Box::pin(latch.wait()), polls.clone());
    let job = pool.spawn(poll_fn(move |context| {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two threads poll it");
        counted.fetch_add(1, Ordering::SeqCst);
        let polled = waits.as_mut().poll(context);
        inside.fetch_sub(1, Ordering::SeqCst);
        polled
    }));
    eventually("it waits", || latch.waiting() == 1);
    let waker = latch.take_wakers().pop().unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..50_000).for_each(|_| waker.wake_by_ref()));
        }
        let inner = waker.clone();
        pool.execute(move || (0..50_000).for_each(|_| inner.wake_by_ref()));
        for _ in 0..1000 {
            let queued = pool.metrics().queued;
            assert!(queued <= 2, "{queued} queued");
        }
    });
    pool.wait_idle();
    assert!(polls.load(Ordering::SeqCst) <= 150_001);
    latch.open();
    drop(waker);
    job.join().unwrap();
    pool.wait_idle();
    assert_eq!((pool.metrics().accepted, pool.metrics().running), (2, 0));
}

#[test]
fn a_wake_while_it_is_polled_is_not_lost() {
    let pool = Pool::new(2);
    for _ in 0..2000 {
        let mut first = true;
        let job = pool.spawn(poll_fn(move |context| {
            if !std::mem::replace(&mut first, false) {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            drop(thread::Builder::new().spawn(move || waker.wake()).ok());
            Poll::Pending
        }));
        job.join().unwrap();
    }
}

/// Row 64: after the end of the future, of its handle and of its pool.
#[test(cancelled in [false, true])]
fn an_outliving_waker_frees_the_memory_last(cancelled: bool) {
    let drops = Drops::default();
    let (pool, latch) = (Pool::new(1), Latch::default());
    let (mut waits, token) = (Box::pin(latch.wait()), drops.token());
    let job = pool.spawn(poll_fn(move |context| {
        let _token = &token;
        waits.as_mut().poll(context)
    }));
    eventually("it waits", || latch.waiting() == 1);
    let waker = latch.take_wakers().pop().unwrap();
    if !cancelled {
        latch.open();
        waker.wake_by_ref();
        job.join().unwrap();
    }
    let before = drops.count();
    drop(pool);
    assert_eq!(drops.count(), before + usize::from(cancelled));
    let others = vec![waker.clone(); 1000];
    (0..1000).for_each(|_| waker.wake_by_ref());
    others.into_iter().for_each(Waker::wake);
    assert_eq!(drops.count(), before + usize::from(cancelled));
}

#[test]
fn a_thread_locals_destructor_may_call_a_waker() {
    let (pool, other) = (Pool::new(1), Pool::new(1));
    for by_a_worker in [false, true] {
        let latch = Latch::default();
        let job = pool.spawn(latch.wait());
        eventually("it waits", || latch.waiting() == 1);
        let inner = latch.clone();
        let leave_it = move || {
            let mut wakers = inner.take_wakers();
            inner.open();
            at_exit(move || wakers.drain(..).for_each(Waker::wake));
        };
        if by_a_worker {
            let ends = Pool::new(1);
            ends.execute(leave_it);
            drop(ends);
        } else {
            thread::spawn(leave_it).join().unwrap();
        }
        job.join().unwrap();
    }
    drop(other);
}

/// Row 57: a future may be awaited with any waker.
#[test]
fn a_wakers_panic_at_the_end_is_contained() {
    let pool = Pool::new(1);
    let before = thread_ids(&pool);
    for round in 0..200 {
        let is_future = round % 2 == 0;
        let (mut job, open) = waits(&pool, is_future);
        let waker = on_wake(|| panic!("expected: a waker panics"));
        assert!(poll(&mut job, &waker).is_pending());
        open();
        pool.wait_idle();
        assert!(matches!(job.try_join(), Some(Ok(()))), "no outcome of a future: {is_future}");
    }
    assert_eq!(thread_ids(&pool), before);
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 202);
}

#[test]
fn a_waker_may_use_the_pool_and_its_handle() {
    let pool = Pool::new(1);
    for round in 0..200 {
        let ran = Arc::<AtomicUsize>::default();
        let (mut job, open) = waits(&pool, round % 2 == 0);
        let kept = Arc::new(Mutex::new(None::<JoinHandle<()>>));
        let (takes, handle, runs) = (kept.clone(), pool.handle(), ran.clone());
        let waker = on_wake(move || {
            drop(takes.lock().unwrap().take());
            let (first, second) = (runs.clone(), runs.clone());
            handle.spawn(async move { first.fetch_add(1, Ordering::SeqCst) });
            handle.execute(move || _ = second.fetch_add(1, Ordering::SeqCst));
        });
        assert!(poll(&mut job, &waker).is_pending());
        *kept.lock().unwrap() = Some(job);
        open();
        eventually("the children run", || ran.load(Ordering::SeqCst) == 2);
        eventually("the handle is gone", || kept.lock().unwrap().is_none());
    }
}

/// The drop of a future wakes, cancels, spawns and joins: it runs under no lock.
#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn the_drop_of_a_future_may_call_anything(how: Shutdown) {
    let (pool, latch, drops) = (Pool::new(1), Latch::default(), Drops::default());
    let future = || {
        let (waits, handle) = (latch.wait(), pool.handle());
        let (latch, drops) = (latch.clone(), drops.clone());
        let busy = OnDrop(move || {
            latch.wake_all();
            if let Ok(job) = handle.try_spawn(async { 42 }) {
                assert_eq!(job.join().unwrap(), 42);
            }
            drop(drops.token());
        });
        async move {
            waits.await;
            drop(busy);
        }
    };
    let first = pool.spawn(future());
    let second = pool.spawn(future());
    eventually("both wait", || latch.waiting() == 2);
    assert!(first.cancel());
    eventually("it is dropped", || drops.count() == 1);
    pool.wait_idle();
    pool.shutdown(how);
    assert_eq!(drops.count(), 2);
    assert!(matches!(second.join(), Err(JoinError::Cancelled(Cause::Ended))));
}
