//! A job that waits does not run: others have their turn, and it goes on in its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use brigade::{Builder, Limited, LocalPool, Pool, Queueing, TaskSet};
use brigade_testkit::{Gate, eventually, test};

use crate::support::busy;
use crate::support::crowd::for_both_queueings;

/// Joins a chain of jobs, each of which joins the next.
fn chain(limited: &Limited, length: u32) -> u32 {
    if length == 0 {
        return 0;
    }
    let inner = limited.clone();
    1 + limited.submit(move || chain(&inner, length - 1)).join().unwrap()
}

#[test(queueing in [Queueing::Stealing, Queueing::Shared])]
fn nested_joins_end(queueing: Queueing) {
    for threads in [1, 2, 4] {
        for spare in [0, 8] {
            let builder = Pool::builder().queueing(queueing).threads(threads).spare_threads(spare);
            let pool = builder.build().unwrap();
            for limit in [1, 2, 3] {
                let limited = pool.limited(limit);
                assert_eq!(chain(&limited, 30), 30);
                let inner = limited.clone();
                assert_eq!(pool.submit(move || chain(&inner, 30)).join().unwrap(), 30);
            }
        }
    }
}

/// Each kind of a wait, for a job of the same view.
#[test(for_both_queueings)]
fn every_wait_gives_its_turn_away(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, handle) = (pool.limited(1), pool.handle());
    let inner = || limited.clone();
    let waits: Vec<Box<dyn FnOnce(Limited) -> u32 + Send>> = vec![
        Box::new(|inner| inner.submit(|| 1).join().unwrap()),
        Box::new(|inner| inner.spawn(async { 1 }).join().unwrap()),
        Box::new(|inner| inner.submit(|| 1).join_timeout(Duration::MAX).unwrap().unwrap()),
        Box::new(|inner| brigade::block_on(inner.submit(|| 1)).unwrap()),
        Box::new(|inner| brigade::block_on(inner.spawn(async { 1 })).unwrap()),
        Box::new(|inner| brigade::join(|| 1, || inner.submit(|| 0).join().unwrap()).0),
        Box::new(move |inner| {
            handle.submit(move || inner.submit(|| 1).join().unwrap()).join().unwrap()
        }),
        Box::new(move |inner| {
            let mut set = TaskSet::new(handle);
            set.submit(move || inner.submit(|| 1).join().unwrap());
            set.outcomes().map(Result::unwrap).sum()
        }),
        Box::new(|inner| {
            brigade::scope(|scope| scope.execute(|| inner.submit(|| ()).join().unwrap()));
            1
        }),
    ];
    let kinds = waits.len() as u32;
    let mut sum = 0;
    for wait in waits {
        let inner = inner();
        sum += limited.submit(move || wait(inner)).join().unwrap();
    }
    assert_eq!(sum, kinds);
}

/// No other job is inside when a job goes on after its wait.
#[test(for_both_queueings)]
fn a_job_goes_on_in_its_turn(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let (serial, is_running) = (pool.limited(1), Arc::new(AtomicBool::new(false)));
    let alone = |is_running: &AtomicBool| {
        assert!(!is_running.swap(true, Ordering::Relaxed), "another job runs");
        thread::yield_now();
        is_running.store(false, Ordering::Relaxed);
    };
    let jobs: Vec<_> = (0..100)
        .map(|_| {
            let (inner, is_running) = (serial.clone(), is_running.clone());
            serial.submit(move || {
                alone(&is_running);
                let nested = is_running.clone();
                inner.submit(move || alone(&nested)).join().unwrap();
                alone(&is_running);
            })
        })
        .collect();
    jobs.into_iter().for_each(|job| job.join().unwrap());
}

/// The waiting job runs an unlimited job, which waits for a job of the view, all on the only thread.
#[test(for_both_queueings)]
fn a_job_inside_a_wait_gives_the_turn_away(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let (limited, handle) = (pool.limited(1), pool.handle());
    let inner = limited.clone();
    let outer = limited.submit(move || {
        let between = handle.submit(move || inner.submit(|| 42).join());
        between.join().unwrap().unwrap()
    });
    assert_eq!(outer.join().unwrap(), 42);
}

/// Its wait is over before the turn of another job: it goes on after that.
#[test(for_both_queueings)]
fn a_wait_that_is_over_waits_for_its_turn(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let (limited, awaited, other) = (pool.limited(1), Gate::closed(), Gate::closed());
    // It has begun, so that the wait does not run it.
    let waits_for = busy::held(&pool, &awaited);
    let has_ended = Arc::new(AtomicBool::new(false));
    let ends = has_ended.clone();
    let (begun, begins) = (Gate::closed(), Gate::closed());
    let first = {
        let begun = begun.clone();
        limited.submit(move || {
            begun.open();
            waits_for.join().unwrap();
            assert!(ends.load(Ordering::Relaxed), "the other job still runs");
        })
    };
    begun.wait();
    let second = {
        let (other, begins) = (other.clone(), begins.clone());
        limited.submit(move || {
            begins.open();
            other.wait();
            has_ended.store(true, Ordering::Relaxed);
        })
    };
    begins.wait();
    awaited.open();
    eventually("the awaited job has ended", || pool.metrics().returned == 1);
    other.open();
    second.join().unwrap();
    first.join().unwrap();
}

#[test]
fn a_blocking_call_keeps_its_turn() {
    let pool = Pool::new(2);
    let (limited, gate) = (pool.limited(1), Gate::closed());
    let first = busy::held_by(&gate, |job| limited.submit(|| brigade::blocking(job)));
    let second = limited.submit(|| ());
    pool.submit(|| ()).join().unwrap();
    assert!(!second.is_finished() && pool.metrics().queued_limited == 1);
    gate.open();
    first.join().unwrap();
    second.join().unwrap();
}

/// The caller's thread runs the jobs, or the owner's.
#[test]
fn pools_without_threads_have_limits_too() {
    let pool = Pool::builder().without_threads().build().unwrap();
    assert_eq!(chain(&pool.limited(1), 10), 10);
    let local = LocalPool::new().unwrap();
    let limited = local.handle().limited(1);
    assert_eq!(local.enter(|| chain(&limited, 10)), 10);
}

/// Many jobs wait for each other's children at once.
#[test(queueing in [Queueing::Stealing, Queueing::Shared])]
fn trees_of_joins_end(queueing: Queueing) {
    fn tree(limited: &Limited, depth: u32, ran: &Arc<AtomicUsize>) {
        ran.fetch_add(1, Ordering::Relaxed);
        if depth == 0 {
            return;
        }
        let children = [(); 3].map(|()| {
            let (inner, ran) = (limited.clone(), ran.clone());
            limited.submit(move || tree(&inner, depth - 1, &ran))
        });
        children.into_iter().for_each(|child| child.join().unwrap());
    }
    for (threads, limit) in [(1, 1), (2, 1), (4, 2), (4, 3)] {
        let pool = Pool::builder().queueing(queueing).threads(threads).build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let (limited, seen) = (pool.limited(limit), ran.clone());
        let root = limited.clone();
        limited.submit(move || tree(&root, 5, &seen)).join().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 364);
    }
}
