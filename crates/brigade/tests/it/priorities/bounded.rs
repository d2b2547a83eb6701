//! Bounded pools: a permit is a permit in every class, and what is dropped for room is the lowest.

use std::sync::mpsc;

use brigade::{Builder, Pool, Priority, Reason, WhenFull, current_priority};
use brigade_testkit::test;

use super::{CLASSES, sends};
use crate::support::crowd::for_both_queueings;
use crate::support::full::busy;

#[test(for_both_queueings)]
fn the_capacity_counts_jobs_of_all_classes(builder: Builder) {
    let (pool, gate) = busy(builder, 6, WhenFull::Reject);
    let (ran, order) = mpsc::channel();
    let submit = |class| pool.job().priority(class).execute(sends(&ran, current_priority));
    for class in [CLASSES, CLASSES].concat() {
        submit(class).unwrap();
    }
    for class in CLASSES {
        assert_eq!(submit(class).unwrap_err().reason(), Reason::Full);
    }
    assert_eq!(pool.metrics().queued, 6);
    gate.open();
    let order: Vec<_> = order.iter().take(6).collect();
    assert_eq!(order, CLASSES.into_iter().rev().flat_map(|c| [c; 2]).collect::<Vec<_>>());
    // The room is there again.
    assert!(pool.wait_idle());
    for class in CLASSES {
        submit(class).unwrap();
    }
}

#[test(for_both_queueings)]
fn drop_oldest_takes_the_lowest_class_first(builder: Builder) {
    let (pool, gate) = busy(builder, 6, WhenFull::DropOldest);
    let submit = |class| pool.job().priority(class).submit(current_priority).unwrap();
    let mut first: Vec<_> = [CLASSES, CLASSES].concat().into_iter().rev().map(submit).collect();
    let mut later = Vec::new();
    // High, normal, low, and once more: the low ones are third and sixth.
    for dropped in [2, 5, 1, 4, 0, 3] {
        assert!(!first[dropped].is_finished());
        later.push(submit(Priority::High));
        assert!(first[dropped].is_finished(), "number {dropped}");
    }
    gate.open();
    assert!(first.drain(..).all(|job| job.join().unwrap_err().is_cancelled()));
    assert!(later.into_iter().all(|job| matches!(job.join(), Ok(Priority::High))));
}

#[test(class in [Priority::Low, Priority::High])]
fn a_polled_future_keeps_its_class_during_evictions(class: Priority) {
    let pool = Pool::builder().threads(1).capacity(1).when_full(WhenFull::DropOldest);
    let pool = pool.build().unwrap();
    let (wakers, woken) = mpsc::channel();
    let mut polls = 0;
    let future = core::future::poll_fn(move |context| {
        polls += 1;
        if polls == 1 {
            wakers.send(context.waker().clone()).unwrap();
            return core::task::Poll::Pending;
        }
        core::task::Poll::Ready(current_priority())
    });
    let future = pool.job().priority(class).spawn(future).unwrap();
    let waker = woken.recv().unwrap();
    let gate = brigade_testkit::Gate::closed();
    crate::support::busy::occupy(&pool, &gate);
    waker.wake();
    // It is queued without a permit: looked at, and put back.
    let jobs: Vec<_> = (0..5).map(|_| pool.submit(|| ())).collect();
    gate.open();
    assert_eq!(future.join().unwrap(), class);
    assert_eq!(jobs.into_iter().filter_map(|job| job.join().ok()).count(), 1);
}
