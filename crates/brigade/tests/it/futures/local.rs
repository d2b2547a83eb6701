//! Futures that are not `Send`: on one worker's thread from the first poll to the drop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread::{self, ThreadId};

use crate::support::crowd::await_idle_workers;
use crate::support::policy::for_every_row;
use crate::support::reports::counts;
use brigade::{
    Cause, Handle, JoinError, JoinHandle, Pool, Reason, Shutdown, block_on, spawn_local, yield_now,
};
use brigade_testkit::{Drops, Latch, OnDrop, Token, eventually, test};

/// Bound to its thread: is not `Send`, and panics if it is dropped on another.
pub(crate) struct Here {
    thread: ThreadId,
    alone: Rc<()>,
    _token: Token,
}

impl Here {
    pub(crate) fn new(drops: &Drops) -> Self {
        Self { thread: thread::current().id(), alone: Rc::new(()), _token: drops.token() }
    }

    pub(crate) fn check(&self) {
        assert_eq!(thread::current().id(), self.thread);
        assert_eq!(Rc::strong_count(&self.alone), 1);
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        if thread::current().id() != self.thread {
            // A panic in here would be contained.
            eprintln!("a local future was dropped on another thread");
            std::process::abort();
        }
    }
}

/// A local future on some worker that waits for the latch; its handle, and the worker's thread.
pub(crate) fn local_on(pool: &Pool, latch: &Latch, drops: &Drops) -> (JoinHandle<u32>, ThreadId) {
    let (latch, drops) = (latch.clone(), drops.clone());
    let spawned = pool.submit(move || {
        let here = Here::new(&drops);
        let waits = latch.wait();
        let job = spawn_local(async move {
            here.check();
            waits.await;
            here.check();
            yield_now().await;
            here.check();
            42
        });
        (job, thread::current().id())
    });
    spawned.join().unwrap()
}

#[test(for_every_row)]
fn a_local_future_stays_on_its_worker(pool: Pool) {
    let drops = Drops::default();
    for round in 1..20 {
        let latch = Latch::default();
        let (job, _) = local_on(&pool, &latch, &drops);
        match round % 3 {
            // From outside, at any time; from a worker, perhaps this one.
            0 => latch.open(),
            1 => {
                eventually("it waits", || latch.waiting() == 1);
                latch.open();
            }
            _ => pool.execute(move || latch.open()),
        }
        assert_eq!(job.join().unwrap(), 42);
        assert_eq!(drops.count(), round);
    }
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!(report.still_running, 0);
}

#[test]
fn a_local_wake_wakes_only_its_worker() {
    let pool = Pool::builder().threads(3).prestart(3).build().unwrap();
    let drops = Drops::default();
    for _ in 0..300 {
        let latch = Latch::default();
        let (job, _) = local_on(&pool, &latch, &drops);
        await_idle_workers(&pool, 3);
        latch.open();
        assert_eq!(job.join().unwrap(), 42);
    }
}

/// All at once: the worker about to sleep, busy, or being woken for something else.
#[test]
fn no_wake_of_a_local_future_is_lost() {
    let pool = Pool::new(2);
    for round in 0..3000 {
        let (latches, drops) = ([(); 2].map(|()| Latch::default()), Drops::default());
        let jobs = [0, 1].map(|n| local_on(&pool, &latches[n], &drops).0);
        if round % 2 == 0 {
            pool.execute(|| ());
        }
        latches.iter().for_each(Latch::wake_all);
        latches.iter().for_each(Latch::open);
        for job in jobs {
            assert_eq!(job.join().unwrap(), 42);
        }
    }
    pool.wait_idle();
    let metrics = pool.metrics();
    assert_eq!((metrics.queued, metrics.running), (0, 0));
    assert_eq!(metrics.accepted, metrics.returned);
}

#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn the_end_cancels_local_futures_on_their_thread(how: Shutdown) {
    for_every_row(|pool| {
        let (latch, drops) = (Latch::default(), Drops::default());
        let jobs = [(); 5].map(|()| local_on(&pool, &latch, &drops).0);
        eventually("all wait", || latch.waiting() == 5);
        let report = pool.shutdown(how);
        assert_eq!(counts(report), (5, 5, 0));
        assert_eq!(drops.count(), 5);
        for job in jobs {
            assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended))));
        }
        // Too late, and on a thread of no pool.
        latch.open();
    });
}

#[test]
fn local_wakes_beside_the_end_touch_nothing_gone() {
    for _ in 0..500 {
        let (pool, latch, drops) = (Pool::new(2), Latch::default(), Drops::default());
        let jobs = [(); 3].map(|()| local_on(&pool, &latch, &drops).0);
        let waker = thread::spawn(move || {
            latch.wake_all();
            latch.open();
        });
        let report = pool.shutdown(Shutdown::Drain);
        assert_eq!((report.ran + report.discarded, report.still_running), (6, 0));
        assert_eq!(drops.count(), 3);
        drop(jobs);
        waker.join().unwrap();
    }
}

/// Its drop submits, wakes and spawns after its worker has ended as one.
#[test]
fn a_local_futures_last_drop_may_call_anything() {
    let (pool, latch, drops) = (Pool::new(2), Latch::default(), Drops::default());
    for _ in 0..10 {
        let (waits, latch, drops, handle) =
            (latch.wait(), latch.clone(), drops.clone(), pool.handle());
        pool.execute(move || {
            let calls = OnDrop(move || {
                latch.wake_all();
                assert!(Handle::current().is_none(), "it is a worker no longer");
                assert_eq!(handle.try_spawn(async {}).unwrap_err().reason(), Reason::Closed);
                drop(drops.token());
            });
            drop(spawn_local(async move {
                waits.await;
                drop(calls);
            }));
        });
    }
    eventually("all wait", || latch.waiting() == 10);
    assert_eq!(pool.shutdown(Shutdown::Drain).discarded, 10);
    assert_eq!(drops.count(), 10);
}

#[test]
fn a_foreign_cancel_drops_a_local_future_on_its_worker() {
    let (pool, latch, drops) = (Pool::new(2), Latch::default(), Drops::default());
    for round in 1..200 {
        let (job, _) = local_on(&pool, &latch, &drops);
        let handle = job.cancel_handle();
        assert!(if round % 2 == 0 { job.cancel() } else { handle.cancel() });
        assert!(!job.cancel() && !handle.cancel());
        assert!(matches!(job.join(), Err(JoinError::Cancelled(Cause::Asked))));
        assert!(handle.is_finished() && drops.count() == round);
    }
}

#[test]
fn a_worker_joins_its_own_local_future() {
    let pool = Pool::new(1);
    let second = pool.submit(|| {
        let count = Rc::new(Cell::new(0));
        let counts = count.clone();
        spawn_local(async move { counts.set(1) }).join().unwrap();
        let second = spawn_local(async move { count.get() });
        spawn_local(async move { second.await.unwrap() })
    });
    assert_eq!(block_on(second.join().unwrap()).unwrap(), 1);
}

#[test]
fn a_local_output_need_not_be_send() {
    let pool = Pool::new(1);
    let sum = pool.submit(|| {
        let parts = [1, 2, 3].map(|n| spawn_local(async move { Rc::new(n) }));
        // Dropped with its outcome, on this thread.
        drop(spawn_local(async { Rc::new(RefCell::new(4)) }));
        spawn_local(async move {
            let mut sum = 0;
            for part in parts {
                sum += *part.await.unwrap();
            }
            sum
        })
    });
    assert_eq!(block_on(sum.join().unwrap()).unwrap(), 6);
}
