//! Futures that wake themselves or each other forever do not keep a bystander from running.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::attempts::in_one_of_three_attempts;
use crate::support::policy::queue_kinds;
use brigade::{Handle, Pool, yield_now};
use brigade_testkit::Watchdog;

const LIMIT: Duration = Duration::from_millis(100);

fn here() -> Handle {
    Handle::current().unwrap()
}

/// A future that wakes itself at each poll until told to stop.
async fn wakes_itself(stop: Arc<AtomicBool>) {
    poll_fn(|context| match stop.load(Ordering::Relaxed) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// One of two futures that wake each other at each poll.
async fn wakes_the_other(stop: Arc<AtomicBool>, wakers: Arc<[Mutex<Option<Waker>>; 2]>, me: usize) {
    poll_fn(|context| {
        *wakers[me].lock().unwrap() = Some(context.waker().clone());
        let other = wakers[1 - me].lock().unwrap().take();
        other.into_iter().for_each(Waker::wake);
        if stop.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn start_hogs(pairs: bool, stop: &Arc<AtomicBool>) {
    if pairs {
        let wakers = Arc::<[Mutex<Option<Waker>>; 2]>::default();
        for me in 0..2 {
            drop(here().spawn(wakes_the_other(stop.clone(), wakers.clone(), me)));
        }
    } else {
        drop(here().spawn(wakes_itself(stop.clone())));
    }
}

/// How long a bystander waits on one worker beside futures that are always ready.
fn bystander_waits(pool: &Pool, pairs: bool, from_inside: bool) -> Option<Duration> {
    let (stop, (ran, runs)) = (Arc::<AtomicBool>::default(), mpsc::channel());
    let stops = stop.clone();
    let begun = Instant::now();
    if from_inside {
        // First the bystander, so that a newest-first queue holds it under the others.
        pool.execute(move || {
            drop(here().spawn(async move { ran.send(begun.elapsed()).unwrap() }));
            start_hogs(pairs, &stops);
        });
    } else {
        pool.submit(move || start_hogs(pairs, &stops)).join().unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let begun = Instant::now();
        pool.spawn(async move { ran.send(begun.elapsed()).unwrap() });
    }
    let waited = runs.recv_timeout(Duration::from_secs(2)).ok();
    stop.store(true, Ordering::Relaxed);
    pool.wait_idle();
    waited
}

#[test]
fn a_bystander_runs_within_100_ms_beside_futures_that_wake_themselves_or_each_other() {
    let _dog = Watchdog::start_alone(60);
    for (kind, pool) in queue_kinds(1) {
        for pairs in [false, true] {
            for from_inside in [false, true] {
                in_one_of_three_attempts(|| {
                    let waited = bystander_waits(&pool, pairs, from_inside);
                    let in_time = waited.is_some_and(|time| time < LIMIT);
                    let case = format!("pairs: {pairs}, from inside: {from_inside}, {kind}");
                    in_time.then_some(()).ok_or(format!("{waited:?}, {case}"))
                });
            }
        }
    }
}

/// Row 68.
#[test]
fn a_hundred_futures_end_beside_one_that_wakes_itself_for_ever() {
    let _dog = Watchdog::start(30);
    for (_, pool) in queue_kinds(1) {
        let stop = Arc::<AtomicBool>::default();
        let hog = pool.spawn(wakes_itself(stop.clone()));
        let others: Vec<_> = (0..100)
            .map(|n| {
                pool.spawn(async move {
                    yield_now().await;
                    n
                })
            })
            .collect();
        for (n, job) in others.into_iter().enumerate() {
            assert_eq!(job.join().unwrap(), n);
        }
        stop.store(true, Ordering::Relaxed);
        hog.join().unwrap();
    }
}

#[test]
fn of_two_futures_that_yield_for_ever_neither_gets_twice_as_much_as_the_other() {
    let _dog = Watchdog::start(30);
    for (kind, pool) in queue_kinds(1) {
        let counts = Arc::<[AtomicU64; 2]>::default();
        let count = |own: usize| {
            let counts = counts.clone();
            async move {
                let turns =
                    || counts.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
                while turns() < 100_000 {
                    counts[own].fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            }
        };
        let both = [count(0), count(1)];
        let both = pool.submit(move || both.map(|future| here().spawn(future)));
        both.join().unwrap().into_iter().for_each(|job| job.join().unwrap());
        let [first, second] = [0, 1].map(|own| counts[own].load(Ordering::Relaxed));
        assert!(first < 2 * second && second < 2 * first, "{first} and {second}, {kind}");
    }
}

#[test]
fn whoever_yields_lets_all_that_is_queued_go_first() {
    let _dog = Watchdog::start(30);
    for (kind, pool) in queue_kinds(1) {
        let seen = Arc::<Mutex<Vec<u32>>>::default();
        let last = seen.clone();
        let job = pool.spawn(async move {
            for n in 0..10 {
                let seen = last.clone();
                here().execute(move || seen.lock().unwrap().push(n));
            }
            yield_now().await;
            last.lock().unwrap().push(10);
        });
        job.join().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!((seen.len(), seen[10]), (11, 10), "{seen:?}, {kind}");
    }
}
