//! A set whose jobs are already on the pool when it gets a limit, is detached or is asked in another way.

use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;

use brigade::{Handle, Pool, TaskSet};
use brigade_testkit::{Gate, WakeCounter, eventually, test};

#[test]
fn a_new_limit_counts_later_jobs() {
    let pool = Pool::new(5);
    let (mut set, gate) = (TaskSet::new(&pool), Gate::closed());
    let add = |set: &mut TaskSet<usize>, numbers: Range<usize>| {
        for number in numbers {
            let gate = gate.clone();
            set.submit(move || {
                gate.wait();
                number
            });
        }
    };
    add(&mut set, 0..2);
    set.detach_all();
    add(&mut set, 2..4);
    set.submit(|| 4);
    assert_eq!(set.join_next().unwrap().unwrap(), 4);
    let mut set = set.limit(2);
    add(&mut set, 5..9);
    assert_eq!(pool.metrics().accepted, 7, "two wait in the set");
    assert!(set.try_join_next().is_none());
    gate.open();
    assert!(set.wait_all());
    let mut rest: Vec<_> = set.outcomes().map(Result::unwrap).collect();
    rest.sort_unstable();
    assert_eq!(rest, [2, 3, 5, 6, 7, 8]);
}

/// A set whose one job waits for the gate, and that a task has polled.
fn polled(pool: &Pool) -> (TaskSet<()>, Gate, Arc<WakeCounter>) {
    let (mut set, gate, wakes) =
        (TaskSet::new(pool), Gate::closed(), Arc::new(WakeCounter::default()));
    let inner = gate.clone();
    set.submit(move || inner.wait());
    let waker = Waker::from(wakes.clone());
    assert!(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending());
    (set, gate, wakes)
}

#[test]
fn a_later_limit_still_wakes_a_polled_task() {
    let pool = Pool::new(1);
    let (set, gate, wakes) = polled(&pool);
    let mut set = set.limit(1);
    assert_eq!(wakes.wakes(), 0);
    gate.open();
    eventually("woken", || wakes.wakes() == 1);
    let waker = Waker::from(wakes);
    let next = pin!(set.join_next_async()).as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(next, Poll::Ready(Some(Ok(())))));
}

/// An early look takes nothing from the task that polled.
#[test]
fn a_later_query_still_wakes_a_polled_task() {
    let pool = Pool::new(1);
    let (mut set, gate, wakes) = polled(&pool);
    assert!(set.try_join_next().is_none());
    gate.open();
    eventually("woken", || wakes.wakes() == 1);
    assert!(set.try_join_next().is_some());
}

#[test]
fn a_job_ended_elsewhere_comes_first() {
    let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
    for all in [false, true] {
        let order = pool.submit(move || {
            let mut set = TaskSet::new(Handle::current().unwrap());
            let owner = thread::current().id();
            let (begun, begins) = mpsc::channel();
            let (go, goes) = mpsc::channel();
            set.submit(move || {
                begun.send(()).unwrap();
                goes.recv().unwrap();
                "elsewhere"
            });
            begins.recv().unwrap(); // On the other worker.
            let handle = Handle::current().unwrap();
            let before = handle.metrics().returned;
            set.submit(move || {
                assert_eq!(thread::current().id(), owner);
                go.send(()).unwrap();
                // What is counted has been listed.
                while handle.metrics().returned == before {
                    thread::yield_now();
                }
                "here"
            });
            if all {
                assert!(set.wait_all());
            }
            set.outcomes().map(Result::unwrap).collect::<Vec<_>>() == ["elsewhere", "here"]
        });
        assert!(order.join().unwrap());
    }
}

#[test]
fn one_long_and_many_short_jobs_return_once_each() {
    let pool = Pool::new(2);
    let (mut set, gate) = (TaskSet::new(&pool), Gate::closed());
    let inner = gate.clone();
    set.submit(move || {
        inner.wait();
        usize::MAX
    });
    for round in 0..500 {
        (0..7).for_each(|number| _ = set.submit(move || 7 * round + number));
        let mut seen: Vec<_> = (0..7).map(|_| set.join_next().unwrap().unwrap()).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(7 * round..7 * (round + 1)));
    }
    gate.open();
    assert_eq!(set.join_next().unwrap().unwrap(), usize::MAX);
    assert!(set.is_empty());
}

/// The job is not announced, as its owner runs it, but another task may wait for its end.
#[test]
fn the_owners_own_run_wakes_a_polled_task() {
    let pool = Pool::new(1);
    let on = Handle::from(&pool);
    let woken = pool.submit(move || {
        let (mut set, counter) = (TaskSet::new(on), Arc::new(WakeCounter::default()));
        let waker = Waker::from(counter.clone());
        (0..3).for_each(|number| _ = set.submit(move || number));
        assert!(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending());
        assert!(set.wait_all());
        counter.wakes()
    });
    assert!(woken.join().unwrap() > 0);
}
