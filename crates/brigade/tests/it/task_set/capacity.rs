//! A `TaskSet` on a bounded pool: its jobs take room like all others, and are queued beyond the capacity where there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::kinds::{Hold, Kind, for_each_kind};
use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest, busy, fill, full};
use brigade::{Builder, Cause, JoinError, Pool, Reason, TaskSet, WhenFull};
use brigade_testkit::{BlockedThread, Gate, eventually, test};

#[test(policy in POLICIES)]
fn a_sets_jobs_queue_beyond_the_capacity(policy: WhenFull) {
    for_each_kind(|kind, builder| {
        let (pool, gate) = busy(builder, 3, policy);
        let (mut set, hold) = (TaskSet::new(&pool), Hold::default());
        (0..10).for_each(|number| _ = kind.add(&mut set, &hold, move || number));
        assert_eq!((set.len(), pool.metrics().queued), (10, 10));
        assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), Reason::Full);
        gate.open();
        if kind != Kind::Closure {
            // They have given their places back once they have been polled.
            eventually("all wait", || hold.begun.now() == 10);
        }
        hold.open();
        let mut outcomes: Vec<_> = set.outcomes().map(Result::unwrap).collect();
        outcomes.sort_unstable();
        assert!(outcomes.into_iter().eq(0..10));
        assert_eq!(at_rest(&pool), [11, 11, 0, 0, 0]);
        let again = Gate::closed();
        occupy(&pool, &again);
        assert_eq!(fill(&pool), 3, "they have given their places back");
        again.open();
    });
}

#[test(for_both_queueings)]
fn a_sets_jobs_take_the_free_room(builder: Builder) {
    let (pool, gate) = busy(builder, 2, WhenFull::Reject);
    let mut set = TaskSet::new(pool.handle());
    set.submit(|| "of the set");
    pool.execute(|| ());
    assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), Reason::Full);
    set.submit(|| "later");
    assert_eq!(pool.metrics().queued, 3, "one more than there is room for");
    gate.open();
    assert!(set.outcomes().map(Result::unwrap).eq(["of the set", "later"]));
}

#[test(for_both_queueings)]
fn a_cancelled_set_job_returns_its_room(builder: Builder) {
    let (pool, gate) = busy(builder, 2, WhenFull::Reject);
    let (mut first, mut second) = (TaskSet::new(pool.handle()), TaskSet::new(pool.handle()));
    (0..3).for_each(|_| _ = first.submit(|| "first"));
    (0..2).for_each(|_| _ = second.submit(|| "second"));
    first.cancel_all();
    assert_eq!(second.len(), 2);
    assert_eq!(fill(&pool), 2, "those of the other set have none");
    gate.open();
    assert_eq!(second.outcomes().map(Result::unwrap).count(), 2);
    assert!(
        first.outcomes().all(|outcome| matches!(outcome, Err(JoinError::Cancelled(Cause::Asked))))
    );
}

#[test(for_both_queueings)]
fn a_dropped_set_beyond_the_capacity_blocks_no_submitter(builder: Builder) {
    let (pool, gate) = full(builder, 1, WhenFull::Block);
    let mut set = TaskSet::new(pool.handle());
    set.submit(|| ());
    thread::scope(|scope| {
        let blocked = BlockedThread::default();
        let (blocks, pool) = (blocked.clone(), &pool);
        let submitter = scope.spawn(move || {
            blocks.is_this();
            pool.execute(|| ());
        });
        blocked.wait_until_blocked();
        drop(set);
        gate.open();
        submitter.join().unwrap();
    });
    assert_eq!(at_rest(&pool), [4, 3, 0, 1, 0]);
}

#[test(for_both_queueings)]
fn one_eviction_costs_a_set_one_job(builder: Builder) {
    let (pool, gate) = busy(builder, 2, WhenFull::DropOldest);
    let mut set = TaskSet::new(pool.handle());
    (0..10).for_each(|_| _ = set.submit(|| ()));
    pool.execute(|| ());
    assert_eq!(pool.metrics().evicted, 1);
    gate.open();
    assert_eq!(set.outcomes().filter(Result::is_ok).count(), 9);
}

/// A job without room is dropped, too, where it is older than all that would make some.
#[test]
fn an_eviction_goes_on_until_there_is_room() {
    let (pool, gate) = busy(Pool::builder(), 1, WhenFull::DropOldest);
    let mut set = TaskSet::new(pool.handle());
    (0..3).for_each(|_| _ = set.submit(|| ()));
    (0..2).for_each(|_| pool.execute(|| ()));
    assert_eq!((pool.metrics().evicted, pool.metrics().queued), (4, 1));
    gate.open();
    assert_eq!(set.outcomes().filter(Result::is_err).count(), 3);
}

#[test(policy in [WhenFull::Reject, WhenFull::DropOldest])]
fn a_set_waiting_for_its_limit_takes_no_room(policy: WhenFull) {
    let pool = Pool::builder().threads(1).capacity(2).when_full(policy).build().unwrap();
    let gate = Gate::closed();
    let mut set = TaskSet::new(pool.handle()).limit(1);
    let (hold, has_begun) = (gate.clone(), Arc::new(AtomicBool::new(false)));
    let begun = has_begun.clone();
    set.submit(move || {
        begun.store(true, Ordering::SeqCst);
        hold.wait();
    });
    eventually("it runs, and has given its place back", || has_begun.load(Ordering::SeqCst));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..20_000).for_each(|_| _ = set.submit(|| ()));
            ended.store(true, Ordering::SeqCst);
        });
        while !ended.load(Ordering::SeqCst) {
            let jobs = [(); 2].map(|()| pool.handle().try_submit(|| ()));
            for job in jobs {
                let job = job.expect("there is room for two");
                assert!(!job.is_finished(), "dropped although there is room");
                assert!(job.cancel());
            }
        }
    });
    gate.open();
    set.wait_all();
}

/// Other threads end jobs of the set, and so submit those that wait in it, at any moment of the wait.
///
/// Caught: a wait that takes a job that has just been submitted for one that has ended.
#[test]
fn a_worker_gets_its_sets_outcomes_from_others() {
    let builder = Pool::builder().threads(4).capacity(3).when_full(WhenFull::Block);
    let pool = builder.build().unwrap();
    for _ in 0..300 {
        let here = pool.handle();
        let waits = pool.submit(move || {
            let mut set = TaskSet::new(here);
            for _ in 0..20 {
                set.submit(thread::yield_now);
            }
            set.outcomes().count()
        });
        while !waits.is_finished() {
            let _ = pool.try_execute(|| ());
        }
        assert_eq!(waits.join().unwrap(), 20);
    }
}

#[test]
fn a_draining_pool_runs_a_sets_job_without_room() {
    let (pool, gate) = busy(Pool::builder(), 1, WhenFull::Reject);
    let queued = pool.submit(|| ());
    let mut set = TaskSet::new(pool.handle());
    set.submit(|| 42);
    pool.close();
    assert!(queued.cancel());
    gate.open();
    assert_eq!(set.join_next().unwrap().unwrap(), 42);
    assert_eq!(at_rest(&pool), [3, 2, 0, 1, 0]);
}
