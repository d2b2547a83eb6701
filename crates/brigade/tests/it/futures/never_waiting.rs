//! Futures that are always ready: they yield, and can be stopped.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::busy::{occupy, open_once_closed};
use brigade::time::{
    Elapsed, advance, interval, interval_at, now, sleep, sleep_until, timeout, timeout_at,
};
use brigade::{
    Cause, JoinError, LocalPool, Missed, Pool, Priority, Shutdown, TaskSet, block_on, spawn,
    spawn_local, yield_now,
};
use brigade_testkit::{Drops, Gate, Latch, OnDrop, Token, eventually, test};

const FAR: Duration = Duration::from_secs(3600);

/// How many operations may be ready in one poll.
const BUDGET: usize = 64;

type Operation = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes operations of one kind that are all ready, on a worker of a pool of one thread.
type Make = fn() -> Box<dyn FnMut() -> Operation + Send>;

/// Operations that are always ready, with their names.
fn operations() -> Vec<(&'static str, Make)> {
    let all: Vec<(&'static str, Make)> = vec![
        ("sleep", || Box::new(|| Box::pin(sleep(Duration::ZERO)))),
        ("tick", || {
            // One tick is due for each millisecond since then.
            let begun = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
            let ticks = interval_at(begun, Duration::from_millis(1)).missed(Missed::Burst);
            let ticks = Arc::new(Mutex::new(ticks));
            Box::new(move || {
                let ticks = ticks.clone();
                Box::pin(std::future::poll_fn(move |context| {
                    ticks.lock().unwrap().poll_tick(context).map(drop)
                }))
            })
        }),
        ("handle", || {
            let ended = || {
                let job = brigade::submit(|| ());
                job.cancel();
                job
            };
            let mut ended: Vec<_> = (0..BUDGET * 2).map(|_| ended()).collect();
            Box::new(move || {
                let job = ended.pop().unwrap();
                Box::pin(async move { drop(job.await) })
            })
        }),
        ("task set", || {
            let mut set = TaskSet::new(brigade::Handle::current().unwrap());
            (0..BUDGET * 2).for_each(|_| _ = set.submit(|| ()));
            set.cancel_all();
            let set = Arc::new(Mutex::new(set));
            Box::new(move || {
                let set = set.clone();
                Box::pin(std::future::poll_fn(move |context| {
                    set.lock().unwrap().poll_join_next(context).map(drop)
                }))
            })
        }),
        ("reserve", || {
            Box::new(|| {
                let room = brigade::Handle::current().unwrap().job().reserve();
                Box::pin(async move { drop(room.await) })
            })
        }),
    ];
    #[cfg(all(feature = "io", unix))]
    let all = all.into_iter().chain(self::io::operations()).collect();
    all
}

#[cfg(all(feature = "io", unix))]
mod io {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex};

    use brigade::io::Async;
    use futures_lite::AsyncRead;

    use super::Make;

    /// Both ends of a stream of bytes that are all there.
    fn full() -> (Async<UnixStream>, UnixStream) {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(&[7; 4096]).unwrap();
        (Async::new(near).unwrap(), far)
    }

    pub(super) fn operations() -> [(&'static str, Make); 3] {
        [
            ("read", || {
                let (near, far) = full();
                let near = Arc::new((Mutex::new(near), far));
                Box::new(move || {
                    let near = near.clone();
                    Box::pin(std::future::poll_fn(move |context| {
                        let mut stream = near.0.lock().unwrap();
                        let read = std::pin::Pin::new(&mut *stream).poll_read(context, &mut [0]);
                        read.map(|read| assert_eq!(read.unwrap(), 1))
                    }))
                })
            }),
            ("read_with", || {
                let near = Arc::new(full());
                Box::new(move || {
                    let near = near.clone();
                    Box::pin(async move {
                        let read = near.0.read_with(|mut stream| stream.read(&mut [0])).await;
                        assert_eq!(read.unwrap(), 1);
                    })
                })
            }),
            ("write", || {
                // Half a page: less than any buffer has room for.
                let near = Arc::new(full());
                Box::new(move || {
                    let near = near.clone();
                    Box::pin(async move {
                        let write = near.0.write_with(|mut stream| stream.write(&[0])).await;
                        assert_eq!(write.unwrap(), 1);
                    })
                })
            }),
        ]
    }
}

#[test((name, make) in operations())]
fn ready_operations_yield_after_128(make: Make) {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let ran = pool.spawn(async move {
        let (mut operation, has_run) = (make(), Arc::new(AtomicBool::new(false)));
        let runs = has_run.clone();
        yield_now().await; // A poll of its own.
        brigade::execute(move || runs.store(true, Ordering::Relaxed));
        let mut ran = 0;
        while !has_run.load(Ordering::Relaxed) {
            operation().await;
            ran += 1;
        }
        ran
    });
    let ran: usize = ran.join().unwrap();
    assert!((BUDGET..=BUDGET + 1).contains(&ran), "{ran}");
}

/// The future is between two operations when it is cancelled, or when its pool is discarded.
#[test((name, make) in operations(), cancels in [true, false])]
fn a_stopped_future_drops_at_its_next_operation(make: Make, cancels: bool) {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let ((gate, passed), drops) = (<(Gate, Arc<AtomicUsize>)>::default(), Drops::default());
    let (wait, passes, token) = (gate.clone(), passed.clone(), drops.token());
    let job = pool.spawn(async move {
        let (mut operation, _token) = (make(), token);
        loop {
            operation().await;
            passes.fetch_add(1, Ordering::Relaxed);
            wait.wait();
        }
    });
    eventually("it is between two", || passed.load(Ordering::Relaxed) == 1);
    match cancels {
        true => {
            assert!(job.cancel());
            gate.open();
        }
        false => {
            open_once_closed(&gate, pool.handle());
            assert_eq!(pool.shutdown(Shutdown::Discard).still_running, 0);
        }
    }
    let cause = if cancels { Cause::Asked } else { Cause::Ended };
    assert!(matches!(job.join(), Err::<(), _>(JoinError::Cancelled(told)) if told == cause));
    assert_eq!((passed.load(Ordering::Relaxed), drops.count()), (1, 1));
}

/// Awaits an operation in a scope. The future of the scope has not been asked to stop, but is a part of the stopped job.
fn await_in_a_scope(make: Make) -> bool {
    brigade::scope(|s| {
        let future = s.spawn(async {
            make()().await;
            brigade::cancelled()
        });
        future.join().unwrap()
    })
}

/// Caught: the budget asked the job that had opened the scope, so the operation yielded in each poll, forever.
#[test((name, make) in operations(), ends in ["running", "pending", "pool"])]
fn a_stopped_opener_lets_its_scoped_future_end(make: Make, ends: &str) {
    let (pool, opened) = (Pool::new(1), Arc::new(AtomicUsize::new(0)));
    let opens = opened.clone();
    let open = move || _ = opens.fetch_add(await_in_a_scope(make).into(), Ordering::Relaxed);
    if ends == "running" {
        let (gate, started) = (Gate::closed(), Gate::closed());
        let (wait, starts) = (gate.clone(), started.clone());
        let job = pool.submit(move || {
            starts.open();
            wait.wait();
            open();
        });
        started.wait();
        assert!(!job.cancel());
        gate.open();
        job.join().unwrap();
    } else {
        let (begun, on_drop) = (Latch::default(), OnDrop(open));
        let latch = begun.clone();
        let job = pool.spawn(async move {
            let _on_drop = on_drop;
            latch.wait().await;
        });
        eventually("it waits", || begun.waiting() == 1);
        if ends == "pending" {
            assert!(job.cancel());
        } else {
            drop(pool);
        }
        assert!(job.join().unwrap_err().is_cancelled());
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1);
}

async fn always_ready() {
    loop {
        sleep(Duration::ZERO).await;
    }
}

#[test]
fn a_timeout_ends_always_ready_operations() {
    let limited = || timeout(Duration::from_millis(1), always_ready());
    let pool = Pool::new(1);
    assert_eq!(pool.spawn(limited()).join().unwrap(), Err(Elapsed));
    assert_eq!(pool.submit(move || block_on(limited())).join().unwrap(), Err(Elapsed));
    assert_eq!(block_on(limited()), Err(Elapsed));
    assert_eq!(LocalPool::new().unwrap().run_until(limited()), Err(Elapsed));
}

/// Operations that are ready, so many in each poll.
async fn batches(count: usize, foreign: bool) {
    loop {
        for _ in 0..count {
            sleep(Duration::ZERO).await;
        }
        match foreign {
            true => futures_lite::future::yield_now().await,
            false => yield_now().await,
        }
    }
}

/// Work that uses the budget up in each poll, and so many operations more or less.
const BATCHES: [usize; 8] =
    [1, BUDGET - 1, BUDGET, BUDGET + 1, BUDGET + 2, BUDGET * 2, BUDGET * 2 + 1, BUDGET * 3];

/// Caught: the limit's timer found the budget used up in each poll.
#[test(foreign in [true, false], limit in 0..4)]
fn a_time_limit_ends_a_loop_of_any_yield_rate(foreign: bool, limit: usize) {
    let soon = Duration::from_millis(1);
    let pool = Pool::new(1);
    for count in BATCHES {
        let work = batches(count, foreign);
        let limited: Operation = match limit {
            0 => Box::pin(async move { _ = timeout(soon, work).await }),
            1 => Box::pin(async move { _ = timeout_at(Instant::now() + soon, work).await }),
            2 => Box::pin(futures_lite::future::or(work, sleep(soon))),
            _ => Box::pin(async move {
                let mut ticks = interval(soon);
                let tick = async { _ = ticks.tick().await };
                futures_lite::future::or(work, tick).await;
            }),
        };
        pool.spawn(limited).join().unwrap();
    }
}

/// Caught: an operation that found the budget used up in each poll.
#[test((name, make) in operations())]
fn an_operation_is_ready_beside_a_loop_of_any_yield_rate(make: Make) {
    let pool = Pool::new(1);
    for count in BATCHES {
        let beside = async move { futures_lite::future::or(batches(count, true), make()()).await };
        pool.spawn(beside).join().unwrap();
    }
}

/// An executor that knows no budget polls it again and again, inside one poll.
#[test]
fn a_foreign_executor_survives_a_spent_budget() {
    let pool = Pool::new(1);
    let many = async {
        for _ in 0..BUDGET * 3 {
            sleep(Duration::ZERO).await;
        }
    };
    let gate = Gate::closed();
    let wait = gate.clone();
    let job = pool.spawn(async move {
        wait.wait();
        futures_lite::future::block_on(many);
    });
    assert!(job.cancel());
    gate.open();
    assert!(job.join().is_err());
    assert!(pool.wait_idle());
}

/// The time that the body takes is that of the ticks themselves. By a clock that stands: half a period may pass between two looks at another.
#[test(missed in [Missed::Skip, Missed::Delay])]
fn a_slow_interval_yields_unless_it_catches_up(missed: Missed) {
    let period = Duration::from_secs(1);
    let other_has_run = LocalPool::paused().unwrap().run_until(async {
        let mut interval = interval_at(now(), period).missed(missed);
        interval.tick().await;
        advance(period * 3 / 2).await;
        let other = spawn_local(async {});
        interval.tick().await;
        other.is_finished()
    });
    assert!(other_has_run, "it has not waited");
}

/// Yields for ever, each poll in one of the ways in which a future wakes itself.
async fn yielding(token: Token, way: usize) {
    let _token = token;
    match way {
        0 => loop {
            yield_now().await;
        },
        1 => loop {
            futures_lite::future::yield_now().await;
        },
        2 => always_ready().await,
        _ => {
            let yields = async {
                loop {
                    yield_now().await;
                }
            };
            futures_lite::future::or(sleep(FAR), yields).await;
        }
    }
}

#[test]
fn drain_drops_yielding_futures_at_the_end() {
    for threads in [1, 2] {
        for way in 0..4 {
            for count in [1, 5] {
                let (pool, drops) = (Pool::new(threads), Drops::default());
                for n in 0..count {
                    let (future, local) = (yielding(drops.token(), way), drops.token());
                    let class = [Priority::Normal, Priority::High, Priority::Low][n % 3];
                    drop(pool.job().priority(class).spawn(future).unwrap());
                    let local = move || drop(spawn_local(yielding(local, way)));
                    pool.submit(local).join().unwrap();
                }
                let ran = Arc::new(AtomicUsize::new(0));
                for _ in 0..20 {
                    let ran = ran.clone();
                    pool.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
                }
                drop(pool);
                assert_eq!(drops.count(), count * 2, "{threads} threads, way {way}");
                assert_eq!(ran.load(Ordering::Relaxed), 20);
            }
        }
    }
    let (pool, drops) = (LocalPool::new().unwrap(), Drops::default());
    drop(pool.handle().spawn(yielding(drops.token(), 0)));
    pool.run_until(yield_now());
    drop(pool);
    assert_eq!(drops.count(), 1);
}

#[test]
fn drain_polls_yielding_futures_while_joined() {
    async fn some() -> u32 {
        for _ in 0..20 {
            yield_now().await;
        }
        42
    }
    let waits: [fn() -> u32; 4] = [
        || spawn(some()).join().unwrap(),
        || block_on(async { spawn(some()).await.unwrap() }),
        || {
            let mut set = TaskSet::new(brigade::Handle::current().unwrap());
            set.spawn(some());
            set.join_next().unwrap().unwrap()
        },
        || {
            let mut answer = 0;
            brigade::scope(|s| drop(s.spawn(async { answer = some().await })));
            answer
        },
    ];
    for threads in [1, 2, 3] {
        for wait in waits {
            let (pool, gate, drops) = (Pool::new(threads), Gate::closed(), Drops::default());
            occupy(&pool, &gate);
            let answer = pool.submit(wait);
            // Beside one that never ends.
            drop(pool.spawn(yielding(drops.token(), 0)));
            open_once_closed(&gate, pool.handle());
            drop(pool);
            assert_eq!(answer.join().unwrap(), 42, "{threads} threads");
            assert_eq!(drops.count(), 1);
        }
    }
}

#[test]
fn finish_polls_yielding_futures_to_their_end() {
    let pool = Pool::new(2);
    let jobs: Vec<_> = (0..3)
        .map(|_| {
            pool.spawn(async {
                for _ in 0..200 {
                    yield_now().await;
                }
            })
        })
        .collect();
    let waits = pool.spawn(async {
        timeout(Duration::from_millis(1), pending::<()>()).await.unwrap_err();
        sleep_until(Instant::now()).await;
    });
    assert_eq!(pool.shutdown(Shutdown::Finish).ran, 4);
    jobs.into_iter().chain([waits]).for_each(|job| job.join().unwrap());
}

/// Caught: each look elsewhere took the place of a job of the worker's own queue.
#[test]
fn a_wait_that_looks_elsewhere_runs_its_own_queue() {
    let pool = Pool::builder().threads(1).spare_threads(0).fairness(1).build().unwrap();
    let waits = || {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = is_over.clone();
        drop(spawn(async move {
            while !seen.load(Ordering::Relaxed) {
                yield_now().await;
            }
        }));
        let mut set = TaskSet::new(brigade::Handle::current().unwrap());
        set.spawn(sleep(Duration::from_millis(1)));
        set.wait_all();
        is_over.store(true, Ordering::Relaxed);
    };
    pool.submit(waits).join().unwrap();
}
