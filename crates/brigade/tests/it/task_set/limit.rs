//! `TaskSet::limit`: no more than this many jobs are on the pool, and the others are submitted when
//! one has ended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::busy::{occupy, open_once_closed};
use crate::support::crowd::for_both_queueings;
use crate::support::full::{at_rest, fill, with_capacity};
use crate::support::policy::queue_kinds;
use brigade::{Builder, NewThread, Pool, Reason, Shutdown, TaskSet, WhenFull};
use brigade_testkit::{Gate, test};

#[test(capacity in [None, Some(4)], for_both_queueings)]
fn no_more_jobs_are_queued_than_the_limit(builder: Builder, capacity: Option<usize>) {
    let builder = with_capacity(builder.threads(1), capacity).when_full(WhenFull::Reject);
    let (pool, gate) = (builder.build().unwrap(), Gate::closed());
    occupy(&pool, &gate);
    let mut set = TaskSet::new(pool.handle()).limit(3);
    (0..10).for_each(|_| _ = set.submit(|| ()));
    assert_eq!((set.len(), pool.metrics().queued), (10, 3));
    let others = capacity.map_or(0, |_| fill(&pool) as u64);
    assert_eq!(others, capacity.map_or(0, |jobs| jobs as u64 - 3));
    set = set.limit(6);
    assert_eq!(pool.metrics().queued, 6 + others, "what has waited needs no room");
    set = set.limit(1);
    set.submit(|| ());
    assert_eq!(pool.metrics().queued, 6 + others, "what is there stays");
    gate.open();
    assert_eq!(set.outcomes().map(Result::unwrap).count(), 11);
}

/// As many as would overflow a stack, if the end of each were inside that of another.
#[test]
fn jobs_far_beyond_the_limit_end_with_their_pool() {
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
fn a_job_refused_a_thread_frees_its_place() {
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

#[test((kind, pool) in queue_kinds(1))]
fn a_draining_pool_runs_jobs_of_a_raised_limit(pool: Pool) {
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
