//! `TaskSet`: outcomes in the order of their ends, and the ways to wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::roll_call::thread_ids;
use brigade::{Pool, TaskSet, yield_now};
use brigade_testkit::{Gate, eventually, on_wake, test};

/// Spawns a job that returns `value` once the gate opens.
fn spawn_gated(set: &mut TaskSet<u32>, value: u32) -> Gate {
    let gate = Gate::closed();
    let inner = gate.clone();
    set.submit(move || {
        inner.wait();
        value
    });
    gate
}

#[test]
fn try_join_next_returns_a_ready_outcome_only() {
    let pool = Pool::new(1);
    let mut set = TaskSet::new(pool.handle());
    assert!(set.wait_all() && set.try_join_next().is_none(), "empty");
    let gate = spawn_gated(&mut set, 42);
    assert!(set.try_join_next().is_none(), "running");
    assert_eq!(set.len(), 1);
    gate.open();
    set.wait_all();
    assert_eq!(set.try_join_next().unwrap().unwrap(), 42);
    assert!(set.try_join_next().is_none());
}

#[test]
fn a_timeout_lasts_and_ends_with_the_job() {
    let pool = Pool::new(1);
    let mut set = TaskSet::new(pool.handle());
    assert!(set.join_next_timeout(Duration::MAX).is_none(), "empty");
    for asked in [0, 1, 20].map(Duration::from_millis) {
        let gate = spawn_gated(&mut set, 42);
        let begun = Instant::now();
        assert!(set.join_next_timeout(asked).is_none());
        assert!(begun.elapsed() >= asked, "{:?} of {asked:?}", begun.elapsed());
        gate.open();
        assert_eq!(set.join_next_timeout(Duration::MAX).unwrap().unwrap(), 42);
    }
}

#[test]
fn a_dropped_iterator_leaves_the_rest() {
    let pool = Pool::new(2);
    let mut set = TaskSet::new(pool.handle());
    (0..10).for_each(|_| _ = set.submit(|| ()));
    assert_eq!(set.outcomes().take(4).count(), 4);
    assert_eq!(set.len(), 6);
    assert_eq!(set.outcomes().count(), 6);
}

#[test]
fn each_end_wakes_an_awaiting_task() {
    let pool = Pool::new(2);
    let here = thread::current();
    let waker = on_wake(move || here.unpark());
    let mut context = Context::from_waker(&waker);
    let mut set = TaskSet::new(pool.handle()).limit(2);
    assert!(matches!(set.poll_join_next(&mut context), Poll::Ready(None)), "empty");
    for number in (0..2000).step_by(2) {
        set.submit(move || number);
        set.spawn(async move {
            yield_now().await;
            number + 1
        });
    }
    let mut sum = 0;
    while !set.is_empty() {
        let mut next = Box::pin(set.join_next_async());
        match next.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => sum += outcome.unwrap().unwrap(),
            Poll::Pending => thread::park(),
        }
    }
    assert_eq!(sum, 2000 * 1999 / 2);
}

#[test]
fn a_panicking_waker_loses_no_outcome() {
    let pool = Pool::new(1);
    let mut set = TaskSet::new(pool.handle()).limit(1);
    let gate = spawn_gated(&mut set, 1);
    set.submit(|| 2);
    let wakes = Arc::new(AtomicUsize::new(0));
    let counted = wakes.clone();
    let waker = on_wake(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("expected: from a waker");
    });
    assert!(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending());
    gate.open();
    eventually("it is woken", || wakes.load(Ordering::Relaxed) == 1);
    assert_eq!(set.outcomes().map(Result::unwrap).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_set_may_change_thread_and_pool() {
    let (pool, other) = (Pool::new(1), Pool::new(1));
    let mut set = TaskSet::new(pool.handle());
    set.submit(|| thread::current().id());
    let ids = thread_ids(&pool);
    let moved = other.submit(move || {
        set.submit(|| thread::current().id());
        set.outcomes().map(Result::unwrap).collect::<Vec<_>>()
    });
    assert!(moved.join().unwrap().iter().all(|thread| ids.contains(thread)));
}

#[test]
fn detached_outcomes_drop_as_jobs_end() {
    let pool = Pool::new(1);
    let witness = Arc::new(());
    let gate = Gate::closed();
    let mut set = TaskSet::new(pool.handle()).limit(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let spawn = |set: &mut TaskSet<Arc<()>>, gate: Option<Gate>| {
        let (witness, ran) = (witness.clone(), ran.clone());
        set.submit(move || {
            ran.fetch_add(1, Ordering::Relaxed);
            gate.into_iter().for_each(|gate| gate.wait());
            witness
        });
    };
    (0..2).for_each(|_| spawn(&mut set, None));
    set.wait_all();
    spawn(&mut set, Some(gate.clone()));
    // The thread that ended the job before may still be about to submit it, and then others overtake it.
    eventually("it runs", || ran.load(Ordering::Relaxed) == 3);
    (0..8).for_each(|_| spawn(&mut set, None));
    set.detach_all();
    assert!(set.is_empty() && set.try_join_next().is_none());
    assert_eq!(Arc::strong_count(&witness), 10, "the outcomes that were there have been dropped");
    set.cancel_all();
    spawn(&mut set, None);
    gate.open();
    assert!(set.join_next().unwrap().is_ok());
    drop(set);
    pool.wait_idle();
    assert_eq!((ran.load(Ordering::Relaxed), Arc::strong_count(&witness)), (12, 1));
}
