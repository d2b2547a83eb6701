//! `TaskSet::limit`: no more than this many jobs are on the pool, and the others are submitted when
//! one has ended.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use crate::support::busy::{occupy, open_once_closed};
use crate::support::full::at_rest;
use crate::support::policy::queue_kinds;
use brigade::{JoinError, NewThread, Pool, Reason, Shutdown, TaskSet};
use brigade_testkit::{Gate, eventually, test};

/// Adds itself to a count while it lives, and notes the highest.
struct Present<'a>(&'a AtomicUsize);

impl<'a> Present<'a> {
    fn enter(count: &'a AtomicUsize, most: &AtomicUsize) -> Self {
        most.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn no_more_jobs_run_at_once_than_the_limit_and_all_of_them_do() {
    for (kind, pool) in queue_kinds(4) {
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let mut set = TaskSet::new(pool.handle()).limit(3);
        for number in 0..10_000_u64 {
            let counts = counts.clone();
            set.submit(move || {
                let _present = Present::enter(&counts.0, &counts.1);
                std::hint::black_box(number)
            });
        }
        assert_eq!(set.outcomes().map(Result::unwrap).sum::<u64>(), 49_995_000, "{kind}");
        assert!(counts.1.load(Ordering::SeqCst) <= 3, "{kind}");
    }
}

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

/// Each job waits until as many as the limit are running.
#[test]
fn as_many_run_at_once_as_the_limit_allows() {
    let pool = Pool::new(4);
    let mut set = TaskSet::new(pool.handle()).limit(3);
    let all_there = Arc::new(Barrier::new(3));
    for _ in 0..300 {
        let all_there = all_there.clone();
        set.submit(move || _ = all_there.wait());
    }
    set.wait_all();
    assert_eq!(set.outcomes().map(Result::unwrap).count(), 300);
}

#[test]
fn jobs_start_in_the_order_in_which_they_were_spawned() {
    for (kind, pool) in queue_kinds(2) {
        let mut set = TaskSet::new(pool.handle()).limit(1);
        (0..20_000).for_each(|number| _ = set.submit(move || number));
        assert!(set.outcomes().map(Result::unwrap).eq(0..20_000), "{kind}");
    }
}

#[test]
fn a_job_spawned_while_others_end_is_not_left_behind() {
    for (kind, pool) in queue_kinds(2) {
        let mut set = TaskSet::new(pool.handle()).limit(1);
        for number in 0..5000 {
            set.submit(move || number);
            if number % 2 == 1 {
                assert_eq!(set.join_next().unwrap().unwrap(), number - 1, "{kind}");
                assert_eq!(set.join_next().unwrap().unwrap(), number, "{kind}");
            }
        }
    }
}

#[test]
fn a_limit_of_none_is_refused() {
    let pool = Pool::new(1);
    let set = TaskSet::<()>::new(pool.handle());
    assert!(panic::catch_unwind(AssertUnwindSafe(|| set.limit(0))).is_err());
}

#[test]
fn a_pool_that_is_dropped_runs_the_jobs_beyond_the_limit_of_a_set() {
    for limit in [1, 2, 5] {
        for (kind, pool) in queue_kinds(2) {
            let gate = Gate::closed();
            occupy(&pool, &gate);
            let handle = pool.handle();
            let mut set = TaskSet::new(handle).limit(limit);
            (0..100).for_each(|_| _ = set.submit(|| ()));
            open_once_closed(&gate, handle);
            drop(pool);
            assert_eq!(set.outcomes().map(Result::unwrap).count(), 100, "{kind}");
            let rejected = set.try_submit(|| ()).unwrap_err();
            assert_eq!(rejected.reason(), Reason::Closed, "{kind}");
        }
    }
}

#[test]
fn a_pool_that_is_discarded_cancels_the_jobs_beyond_the_limit_of_a_set() {
    for limit in [1, 2, 5] {
        for (kind, pool) in queue_kinds(2) {
            let gate = Gate::closed();
            occupy(&pool, &gate);
            let handle = pool.handle();
            let mut set = TaskSet::new(handle).limit(limit);
            let witness = Arc::new(());
            for _ in 0..100 {
                let witness = witness.clone();
                set.submit(move || drop(witness));
            }
            open_once_closed(&gate, handle);
            let report = pool.shutdown(Shutdown::Discard);
            set.wait_all();
            assert_eq!(Arc::strong_count(&witness), 1, "{kind}");
            let cancelled =
                set.outcomes().map(|outcome| matches!(outcome, Err(JoinError::Cancelled)));
            assert_eq!(cancelled.filter(|cancelled| *cancelled).count(), 100, "{kind}");
            assert_eq!((report.ran, report.still_running), (2, 0), "{kind}");
            assert_eq!(report.discarded, 100, "{kind}");
        }
    }
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
