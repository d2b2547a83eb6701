//! Waiting for what was accepted before, while more comes in.

use super::inn::{Inn, Numbered};
use super::*;

/// A wait ends, and not before what was accepted earlier has, with its child, whatever comes in meanwhile.
///
/// Caught: a phase that ends without a look at the queues.
#[test]
fn a_wait_ends_after_an_old_job_and_its_child() {
    check(3, || {
        let inn = Inn::new(1);
        // It may have looked for work already.
        let worker = inn.worker(0);
        inn.inject(Numbered(0, Some(1)));
        inn.wait_idle(|| inn.inject(Numbered(2, None)));
        assert!(inn.has_ended(0) && inn.has_ended(1));
        inn.close([worker]);
        assert!(inn.has_ended(2));
    });
}

/// The same with two workers, of which one may be late.
///
/// Caught: a phase that ends while a worker runs; a late worker that takes old work, or whose child goes home;
/// `announce` that leaves a worker late.
#[test]
fn a_wait_ends_after_an_old_job_and_its_child_on_two_workers() {
    check(2, || {
        let inn = Inn::new(2);
        inn.inject(Numbered(0, Some(1)));
        let workers = [inn.worker(0), inn.worker(1)];
        inn.wait_idle(|| inn.inject(Numbered(2, Some(3))));
        assert!(inn.has_ended(0) && inn.has_ended(1));
        inn.close(workers);
        assert!(inn.has_ended(2) && inn.has_ended(3));
    });
}

/// What was later work is old work to the next who waits, wherever its worker has got to.
///
/// Caught: workers that are late still in the next phase.
#[test]
fn later_work_and_its_child_are_old_work_to_the_next_phase() {
    check(1, || {
        let inn = Inn::new(2);
        inn.inject(Numbered(0, None));
        let workers = [inn.worker(0), inn.worker(1)];
        inn.wait_idle(|| inn.inject(Numbered(1, Some(2))));
        assert!(inn.has_ended(0));
        inn.wait_idle(|| ());
        assert!(inn.has_ended(1) && inn.has_ended(2));
        inn.close(workers);
    });
}

/// Two who wait at once: the phase of the one that comes during the other's follows it.
///
/// Caught: no phase that follows.
#[test]
fn who_waits_during_a_phase_finds_later_work_done() {
    check(2, || {
        let inn = Inn::new(1);
        inn.inject(Numbered(0, None));
        let worker = inn.worker(0);
        let other = inn.clone();
        let waiter = thread::spawn(move || {
            other.inject(Numbered(1, None));
            other.wait_idle(|| ());
            assert!(other.has_ended(1));
        });
        inn.wait_idle(|| ());
        assert!(inn.has_ended(0));
        waiter.join().unwrap();
        inn.close([worker]);
    });
}

/// One producer's jobs stay in their order while the doors change.
///
/// Caught: both doors open.
#[test]
fn the_order_of_a_producer_outlasts_a_change_of_doors() {
    check(2, || {
        let inn = Inn::new(1);
        let worker = inn.worker(0);
        let other = inn.clone();
        let producer = thread::spawn(move || {
            other.inject(Numbered(0, None));
            other.inject(Numbered(1, None));
        });
        inn.wait_idle(|| ());
        producer.join().unwrap();
        inn.close([worker]);
        assert_eq!(*inn.ended.lock(), [0, 1]);
    });
}

/// A worker with old work before it runs a later job, which may take as long as it will.
///
/// Caught: a worker that stays late when that has ended.
#[test]
fn a_wait_ends_after_an_old_job_and_its_child_beside_a_guest() {
    check(2, || {
        let inn = Inn::new(2);
        inn.inject(Numbered(0, Some(1)));
        let workers = [inn.hand(0, |hand| hand.live_with_a_guest()), inn.worker(1)];
        inn.wait_idle(|| inn.inject(Numbered(2, Some(3))));
        assert!(inn.has_ended(0) && inn.has_ended(1));
        inn.close(workers);
        assert!(inn.has_ended(2) && inn.has_ended(3));
    });
}

/// A worker leaves, late or not, and the wait ends all the same, and not before the old job's child.
///
/// Caught: a worker that leaves and stays counted as late; one that leaves and does not look whether that was all.
#[test]
fn a_wait_ends_after_an_old_job_and_its_child_although_a_worker_leaves() {
    check(2, || {
        let inn = Inn::new(2);
        inn.inject(Numbered(0, Some(1)));
        inn.idle.resize(Size { core: 1, max: 1, spare: 0 });
        let workers = [inn.hand(0, |hand| hand.leave_if_over()), inn.worker(1)];
        inn.wait_idle(|| inn.inject(Numbered(2, None)));
        assert!(inn.has_ended(0) && inn.has_ended(1));
        inn.close(workers);
        assert!(inn.has_ended(2));
    });
}
