//! Waiting for a future on a thread, which may be a worker.

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use crate::support::policy::queue_kinds;
use brigade::time::sleep;
use brigade::{Handle, JoinError, JoinHandle, Pool, block_on, spawn, yield_now};
use brigade_testkit::{Latch, eventually, test};

#[test]
fn block_on_needs_no_send_future() {
    let (pool, count) = (Pool::new(1), Rc::new(Cell::new(0)));
    let inner = count.clone();
    block_on(async {
        for n in 0..100 {
            inner.set(inner.get() + pool.spawn(async move { n }).await.unwrap());
            yield_now().await;
        }
    });
    assert_eq!(count.get(), 4950);
}

/// Row 66: a wake of the outer one does not end the inner one's wait, and the other way round.
#[test]
fn block_on_nests() {
    for _ in 0..200 {
        let (outer, inner) = (Latch::default(), Latch::default());
        let (opens_outer, opens_inner) = (outer.clone(), inner.clone());
        let opener = thread::spawn(move || {
            eventually("the outer one waits", || opens_outer.waiting() > 0);
            opens_outer.open();
            eventually("the inner one waits", || opens_inner.waiting() > 0);
            opens_inner.open();
        });
        let mut waits = pin!(outer.wait());
        let mut first = true;
        let sum = block_on(poll_fn(|context| {
            let polled = waits.as_mut().poll(context);
            if std::mem::replace(&mut first, false) {
                // Inside a poll whose waker is woken at the same time.
                block_on(inner.wait());
            }
            polled.map(|()| 42)
        }));
        assert_eq!(sum, 42);
        opener.join().unwrap();
    }
}

#[test((kind, pool) in queue_kinds(1))]
fn the_pool_replaces_a_blocked_on_worker(pool: Pool) {
    let handle = pool.handle();
    let outer = pool.submit(move || {
        block_on(async {
            let inner = handle.spawn(async {
                yield_now().await;
                20
            });
            let other = handle.submit(|| 22);
            inner.await.unwrap() + other.await.unwrap()
        })
    });
    assert_eq!(outer.join().unwrap(), 42);
}

#[test]
fn block_on_nests_on_the_only_worker() {
    let pool = Pool::new(1);
    let nested = pool.spawn(async {
        block_on(async { brigade::spawn(async { block_on(async { 42 }) }).await.unwrap() })
    });
    assert_eq!(nested.join().unwrap(), 42);
}

#[test]
fn block_on_works_again_after_a_panic() {
    let panics = async {
        yield_now().await;
        panic!("expected: in block_on")
    };
    assert!(panic::catch_unwind(AssertUnwindSafe(|| block_on::<_>(panics))).is_err());
    block_on(yield_now());
}

/// A token left by a late wake causes one more poll, and no wrong outcome.
#[test]
fn late_wakes_of_an_earlier_call_do_no_harm() {
    let mut late = Vec::new();
    for _ in 0..50 {
        block_on(poll_fn(|context| {
            late.push(context.waker().clone());
            Poll::Ready(())
        }));
        late.iter().for_each(|waker| waker.wake_by_ref());
        let latch = Latch::default();
        let opens = latch.clone();
        let opener = thread::spawn(move || {
            eventually("it waits", || opens.waiting() > 0);
            opens.open();
        });
        block_on(latch.wait());
        opener.join().unwrap();
    }
}

#[test]
fn an_endless_foreign_block_on_delays_no_shutdown() {
    let pool = Pool::new(2);
    // A thread of no pool.
    drop(thread::Builder::new().spawn(|| block_on(pending::<()>())));
    assert_eq!(pool.spawn(async { 42 }).join().unwrap(), 42);
    drop(pool);
}

/// Neither the number of polls of a handle nor its existence shows what else the future waits for.
#[test]
fn a_wait_for_a_foreign_event_is_no_wait_for_a_job() {
    /// Polls a future that waits.
    type Way = fn(&mut JoinHandle<()>, Handle, &mut Context<'_>);
    let ways: [Way; 2] = [
        |job, _, context| {
            for _ in 0..3 {
                assert!(Pin::new(&mut *job).poll(context).is_pending());
            }
        },
        |job, here, context| {
            assert!(Pin::new(&mut *job).poll(context).is_pending());
            *job = here.spawn(pending());
        },
    ];
    for poll in ways {
        let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
        let (here, latch) = (pool.handle(), Latch::default());
        let opens = latch.clone();
        let waits = pool.submit(move || {
            let mut job = here.spawn(pending());
            let mut other = pin!(latch.wait());
            block_on(poll_fn(|context| {
                let polled = other.as_mut().poll(context);
                if polled.is_pending() {
                    poll(&mut job, here, context);
                }
                polled
            }));
        });
        eventually("it waits", || opens.waiting() > 0);
        opens.open();
        waits.join().unwrap();
    }
}

/// All other threads of the pool wait for what the first of them is about to make, which the pool does not know. So the waiter polls
/// the futures that it waits for.
#[test]
fn a_shared_value_may_be_made_by_pool_futures() {
    type Way = fn() -> u32;
    let ways: [Way; 5] = [
        || block_on(spawn(async { 1 })).unwrap(),
        || spawn(async { 1 }).join().unwrap(),
        || block_on(async { spawn(async { yield_now().await }).await }).map_or(0, |()| 1),
        || spawn(async { yield_now().await }).join().map_or(0, |()| 1),
        || block_on(spawn(async { sleep(Duration::from_millis(1)).await })).map_or(0, |()| 1),
    ];
    for (way, make) in ways.into_iter().enumerate() {
        for _ in 0..10 {
            let (pool, made) = (Pool::new(2), Arc::new(OnceLock::new()));
            let want = |_| {
                let made: Arc<OnceLock<u32>> = made.clone();
                pool.submit(move || *made.get_or_init(make))
            };
            let jobs: Vec<_> = (0..20).map(want).collect();
            assert!(jobs.into_iter().all(|job| job.join().unwrap() == 1), "way {way}");
        }
    }
}

/// The first thread is the only one, or the last.
#[test(spare in [0, 1])]
fn a_yield_inside_block_on_lets_jobs_run(spare: usize) {
    let pool = Pool::builder().threads(1).spare_threads(spare).build().unwrap();
    let is_set = Arc::new(OnceLock::new());
    let (handle, set) = (pool.handle(), is_set.clone());
    let job = pool.submit(move || {
        handle.execute(move || set.set(()).unwrap());
        block_on(async {
            while is_set.get().is_none() {
                yield_now().await;
            }
        });
    });
    job.join().unwrap();
}

/// Were each job to take the next in the wait of its future, the last would be on top of all others.
#[test]
fn yields_inside_blocking_calls_do_not_stack_jobs() {
    thread_local! {
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }
    let pool = Pool::new(1);
    let (begun, deepest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    const JOBS: usize = 50;
    for _ in 0..JOBS {
        let (begun, deepest) = (begun.clone(), deepest.clone());
        pool.execute(move || {
            DEPTH.set(DEPTH.get() + 1);
            deepest.fetch_max(DEPTH.get(), Ordering::SeqCst);
            begun.fetch_add(1, Ordering::SeqCst);
            // Each waits for all.
            brigade::blocking(|| {
                block_on(async {
                    while begun.load(Ordering::SeqCst) < JOBS {
                        yield_now().await;
                    }
                });
            });
            DEPTH.set(DEPTH.get() - 1);
        });
    }
    pool.wait_idle();
    assert_eq!(begun.load(Ordering::SeqCst), JOBS);
    assert!(deepest.load(Ordering::SeqCst) <= 2, "{deepest:?} on one stack");
}

/// On the only thread, each job lies on top of the job before it.
#[test]
fn block_on_a_job_beneath_it_fails() {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let (send, take) = mpsc::channel::<JoinHandle<u32>>();
    let beneath = pool.submit(move || block_on(take.recv().unwrap()));
    let above = pool.submit(move || block_on(beneath));
    send.send(pool.submit(|| 42)).unwrap();
    assert!(matches!(above.join().unwrap(), Err(JoinError::WouldDeadlock)));
}
