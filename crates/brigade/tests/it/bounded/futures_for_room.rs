//! Futures that wait for room: each is woken when there is some, and a cancelled one passes its wake on.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::support::crowd::for_both_queueings;
use crate::support::full::{at_rest, busy, full};
use brigade::{Builder, Handle, Pool, Reason, Shutdown, WhenFull};
use brigade_testkit::{WakeCounter, block_on, eventually, test};

type Submitting = Pin<Box<dyn Future<Output = Result<(), Reason>> + Send>>;

/// A submission of a job that counts itself.
fn submitting(pool: Handle, ran: &Arc<AtomicUsize>) -> Submitting {
    let ran = ran.clone();
    let room = pool.job().reserve();
    Box::pin(async {
        let job = move || _ = ran.fetch_add(1, Ordering::Relaxed);
        room.await?.execute(job).map_err(|rejected| rejected.reason())
    })
}

fn poll(future: &mut Submitting, waker: &Waker) -> Poll<Result<(), Reason>> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// Submissions that are pending, each with its waker.
fn pending<const COUNT: usize>(pool: Handle) -> [(Submitting, Arc<WakeCounter>); COUNT] {
    std::array::from_fn(|_| {
        let (mut future, bell) =
            (submitting(pool, &Arc::default()), Arc::new(WakeCounter::default()));
        assert!(poll(&mut future, &bell.clone().into()).is_pending());
        (future, bell)
    })
}

#[test(for_both_queueings)]
fn a_released_permit_wakes_a_pending_future(builder: Builder) {
    let (pool, gate) = busy(builder, 1, WhenFull::Reject);
    let queued = pool.submit(|| ());
    let [(mut first, rings_first), (mut second, rings_second)] = pending(pool.handle());
    assert_eq!((rings_first.wakes(), rings_second.wakes()), (0, 0));
    assert!(queued.cancel());
    assert_eq!((rings_first.wakes(), rings_second.wakes()), (1, 0), "one place, one wake");
    assert_eq!(poll(&mut first, &rings_first.clone().into()), Poll::Ready(Ok(())));
    assert!(poll(&mut second, &rings_second.clone().into()).is_pending());
    gate.open();
    assert_eq!(block_on(second), Ok(()));
    assert_eq!(at_rest(&pool), [4, 3, 0, 1, 0]);
}

#[test]
fn only_the_last_waker_is_woken() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let [(mut future, former)] = pending(pool.handle());
    let last = Arc::new(WakeCounter::default());
    assert!(poll(&mut future, &last.clone().into()).is_pending());
    assert_eq!(Arc::strong_count(&former), 1, "not kept");
    gate.open();
    eventually("the last waker is woken", || last.wakes() == 1);
    assert_eq!(former.wakes(), 0);
}

#[test(woken in [false, true])]
fn a_dropped_future_passes_its_wake_on(woken: bool) {
    let (pool, gate) = busy(Pool::builder(), 1, WhenFull::Reject);
    let queued = pool.submit(|| ());
    let [(first, _), (mut second, rings)] = pending(pool.handle());
    if woken {
        assert!(queued.cancel());
        assert_eq!(rings.wakes(), 0);
        drop(first);
    } else {
        drop(first);
        assert!(queued.cancel());
    }
    assert_eq!(rings.wakes(), 1);
    assert_eq!(poll(&mut second, &rings.into()), Poll::Ready(Ok(())));
    gate.open();
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
}

#[test]
fn the_close_wakes_futures_waiting_for_permits() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let waiting = pending::<3>(pool.handle());
    let mut last = Box::pin(pool.job().reserve());
    let bell = Arc::new(WakeCounter::default());
    let waker = Waker::from(bell.clone());
    assert!(last.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let closing = thread::spawn(move || pool.shutdown(Shutdown::Drain));
    eventually("all are woken", || {
        bell.wakes() == 1 && waiting.iter().all(|(_, bell)| bell.wakes() == 1)
    });
    for (future, _) in waiting {
        assert_eq!(block_on(future), Err(Reason::Closed));
    }
    assert_eq!(block_on(last).unwrap_err(), Reason::Closed);
    gate.open();
    assert_eq!(closing.join().unwrap().ran, 2);
}

#[test]
fn a_future_may_be_polled_after_its_pool() {
    let pool = Pool::builder().threads(1).capacity(1).build().unwrap();
    let (before, ran) = (pool.job().reserve(), Arc::default());
    let gone = submitting(pool.handle(), &ran);
    assert_eq!(block_on(Box::pin(before)).unwrap().submit(|| 42).unwrap().join().unwrap(), 42);
    drop(pool);
    assert_eq!(block_on(gone), Err(Reason::Closed));
    assert_eq!(Arc::strong_count(&ran), 1);
}

#[test]
fn a_future_keeps_no_pool_open() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let waiting = pending::<1>(pool.handle());
    gate.open();
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 2);
    drop(waiting);
}

#[test]
fn a_future_pending_outside_runs_on_the_polling_worker() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let [(future, _), (other, _)] = pending(pool.handle());
    gate.open();
    pool.wait_idle();
    let polled = pool.submit(move || {
        let here = Handle::current().unwrap();
        assert_eq!(fill_from(here), 1);
        block_on(future)
    });
    assert_eq!(polled.join().unwrap(), Ok(()));
    // A submitter that ran its job needs no permit, and is not among the waiters.
    assert_eq!(block_on(other), Ok(()));
}

#[test]
fn a_future_run_by_its_poller_holds_no_permit() {
    let pool = Pool::builder().threads(1).capacity(1).build().unwrap();
    let parent = pool.submit(|| {
        let here = Handle::current().unwrap();
        let queued = Arc::new(Mutex::new(here.submit(|| ())));
        let bell = Arc::new(WakeCounter::default());
        let (makes_room, rung) = (queued.clone(), bell.clone());
        let room = here.job().reserve();
        let mut first = Box::pin(async {
            let job = move || {
                assert!(makes_room.lock().unwrap().cancel());
                rung.wakes()
            };
            (room.await.unwrap().submit(job).unwrap(), ())
        });
        // Both must wait for a permit, which no worker of the pool does.
        let outside = thread::spawn(move || {
            assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            let mut second = submitting(here, &Arc::default());
            assert!(poll(&mut second, &bell.into()).is_pending());
            (first, second)
        });
        let (first, second) = outside.join().unwrap();
        let rings = block_on(first).0.join().unwrap();
        drop(second);
        rings
    });
    assert_eq!(parent.join().unwrap(), 1, "woken while the job of the first ran");
}

/// Queues what there is room for from a job of the pool.
fn fill_from(here: Handle) -> usize {
    (0..).take_while(|_| here.try_execute(|| ()).is_ok()).count()
}

/// A waker may do anything, such as poll what it wakes right there, drop others that wait, or panic.
struct Hostile {
    pool: Handle,
    others: Mutex<Vec<Submitting>>,
}

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        let others = std::mem::take(&mut *self.others.lock().unwrap());
        let ran = Arc::default();
        for mut other in others {
            let waker = Waker::from(Arc::new(WakeCounter::default()));
            let _ = poll(&mut other, &waker);
        }
        let _ = poll(&mut submitting(self.pool, &ran), Waker::noop());
        panic!("expected: a waker");
    }
}

#[test(for_both_queueings)]
fn a_reentrant_panicking_waker_loses_no_job(builder: Builder) {
    let (pool, gate) = full(builder, 1, WhenFull::Reject);
    let hostile = Arc::new(Hostile { pool: pool.handle(), others: Mutex::default() });
    let waker = Waker::from(hostile.clone());
    let mut first = submitting(pool.handle(), &Arc::default());
    assert!(poll(&mut first, &waker).is_pending());
    let others = pending::<3>(pool.handle()).map(|(future, _)| future);
    hostile.others.lock().unwrap().extend(others);
    let [(last, _)] = pending(pool.handle());
    gate.open();
    eventually("it is woken", || hostile.others.lock().unwrap().is_empty());
    drop(first);
    assert_eq!(block_on(last), Ok(()));
    let [accepted, returned, panicked, ..] = at_rest(&pool);
    assert_eq!((accepted, panicked), (returned, 0));
}
