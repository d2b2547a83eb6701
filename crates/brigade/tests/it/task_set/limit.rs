//! `TaskSet::limit`: no more than this many jobs are on the pool, and the others are submitted when
//! one has ended.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::busy::{occupy, open_once_closed};
use crate::support::full::at_rest;
use crate::support::policy::queue_kinds;
use brigade::{NewThread, Pool, Reason, Shutdown, TaskSet};
use brigade_testkit::{Gate, eventually, test};

#[test]
fn no_more_jobs_are_queued_than_the_limit() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let mut set = TaskSet::new(pool.handle()).limit(3);
    (0..10).for_each(|_| _ = set.submit(|| ()));
    assert_eq!((set.len(), pool.metrics().queued), (10, 3));
    set = set.limit(5);
    assert_eq!(pool.metrics().queued, 5, "there is room for more");
    set = set.limit(1);
    set.submit(|| ());
    assert_eq!(pool.metrics().queued, 5, "what is there stays");
    gate.open();
    assert_eq!(set.outcomes().map(Result::unwrap).count(), 11);
}

#[test]
fn a_limit_of_none_is_refused() {
    let pool = Pool::new(1);
    let set = TaskSet::<()>::new(pool.handle());
    assert!(panic::catch_unwind(AssertUnwindSafe(|| set.limit(0))).is_err());
}

/// As many as would overflow a stack, if the end of each were inside that of another.
#[test]
fn a_hundred_thousand_jobs_beyond_the_limit_end_with_their_pool() {
    let pool = Pool::new(1);
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let mut set = TaskSet::new(pool.handle()).limit(1);
    (0..100_000).for_each(|_| _ = set.submit(|| ()));
    open_once_closed(&gate, pool.handle());
    pool.shutdown(Shutdown::Discard);
    assert_eq!(set.outcomes().filter(Result::is_err).count(), 100_000);
}

#[test]
fn a_set_at_its_limit_rejects_a_job_for_its_closed_pool() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let mut set = TaskSet::new(pool.handle()).limit(1);
    let inner = gate.clone();
    set.submit(move || inner.wait());
    eventually("it runs", || pool.metrics().running == 1);
    let handle = pool.handle();
    let closer = std::thread::spawn(move || drop(pool));
    eventually("the pool closes", || handle.metrics().is_closed);
    let witness = Arc::new(());
    let captured = witness.clone();
    let rejected = set.try_submit(move || drop(captured)).unwrap_err();
    assert_eq!((rejected.reason(), set.len()), (Reason::Closed, 1));
    rejected.into_inner()();
    assert_eq!(Arc::strong_count(&witness), 1);
    gate.open();
    closer.join().unwrap();
    assert_eq!(set.outcomes().map(Result::unwrap).count(), 1);
}

#[test]
fn a_job_that_found_no_thread_leaves_its_place_to_another() {
    let fails = Arc::new(AtomicBool::new(true));
    let failing = fails.clone();
    let spawner = move |thread: NewThread| match failing.load(Ordering::SeqCst) {
        true => Err(io::Error::other("expected: no thread today")),
        false => thread.start(),
    };
    let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
    let mut set = TaskSet::new(pool.handle()).limit(1);
    for _ in 0..3 {
        assert_eq!(set.try_submit(|| 1).unwrap_err().reason(), Reason::NoThread);
    }
    assert!(set.is_empty() && set.join_next().is_none());
    fails.store(false, Ordering::SeqCst);
    set.submit(|| 42);
    assert_eq!(set.join_next().unwrap().unwrap(), 42);
}

#[test]
fn a_pool_that_drains_runs_jobs_that_a_foreign_thread_submits_by_a_larger_limit() {
    for (_, pool) in queue_kinds(1) {
        let gate = Gate::closed();
        occupy(&pool, &gate);
        let mut set = TaskSet::new(pool.handle()).limit(1);
        (0..10).for_each(|number| _ = set.submit(move || number));
        pool.close();
        let mut set = set.limit(4);
        gate.open();
        let mut outcomes: Vec<_> = set.outcomes().map(Result::unwrap).collect();
        outcomes.sort();
        assert_eq!(outcomes, Vec::from_iter(0..10));
        assert_eq!(at_rest(&pool), [11, 11, 0, 0, 0]);
    }
}
