//! Joins that would wait for themselves say so.

use std::sync::mpsc;

use brigade::{JoinError, JoinHandle, Pool};

use crate::crowd::for_both_queueings;
use crate::watchdog::Watchdog;

/// Hands a job the handle of another, or its own.
fn letterbox<T: Send + 'static>()
-> (mpsc::Sender<JoinHandle<T>>, impl FnOnce() -> JoinHandle<T> + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    (sender, move || receiver.recv().unwrap())
}

fn would_deadlock<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::WouldDeadlock))
}

#[test]
fn a_job_that_joins_itself_hears_that_this_would_never_end() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).build().unwrap();
        let ((own, take_own), (told, tells)) = (letterbox::<()>(), mpsc::channel());
        let job = pool.submit(move || told.send(would_deadlock(take_own().join())).unwrap());
        own.send(job).unwrap();
        assert!(tells.recv().unwrap());
        pool.wait_idle();
        assert_eq!(pool.metrics().returned, 1, "and goes on");
    });
}

/// The last to join hears it, and the others have outcomes.
#[test]
fn of_a_circle_of_jobs_one_hears_it_and_all_end() {
    let _dog = Watchdog::start(60);
    for length in [2, 3, 8] {
        let pools: Vec<_> = (0..length).map(|_| Pool::new(1)).collect();
        check_circle(&pools.iter().collect::<Vec<_>>());
        for_both_queueings(|builder| {
            let pool = builder.threads(length).build().unwrap();
            check_circle(&vec![&pool; length]);
        });
    }
}

/// A job on each of these pools, all of them running at once, joins the next one's.
fn check_circle(pools: &[&Pool]) {
    let (told, tells) = mpsc::channel();
    let boxes: Vec<_> = pools.iter().map(|_| letterbox::<bool>()).collect();
    let (senders, takers): (Vec<_>, Vec<_>) = boxes.into_iter().unzip();
    let jobs: Vec<_> = pools
        .iter()
        .zip(takers)
        .map(|(pool, take)| {
            let told = told.clone();
            pool.submit(move || {
                told.send(would_deadlock(take().join())).unwrap();
                true
            })
        })
        .collect();
    // Each goes to the job before it.
    for (number, job) in jobs.into_iter().enumerate() {
        senders[(number + pools.len() - 1) % pools.len()].send(job).unwrap();
    }
    let heard: Vec<_> = tells.iter().take(pools.len()).collect();
    assert_eq!(heard.iter().filter(|heard| **heard).count(), 1, "{heard:?}");
}

/// The inner job is run by the outer one that joins it, and joins that one in turn.
#[test]
fn a_job_that_is_run_inside_another_hears_that_it_would_wait_for_that_one() {
    let _dog = Watchdog::start(20);
    for_both_queueings(|builder| {
        let pool = builder.threads(1).build().unwrap();
        let (outer_box, take_outer) = letterbox::<bool>();
        let outer = pool.submit(move || {
            let inner = brigade::submit(move || would_deadlock(take_outer().join())).unwrap();
            inner.join().unwrap()
        });
        outer_box.send(outer).unwrap();
        pool.wait_idle();
        assert_eq!(pool.metrics().returned, 2);
    });
}

#[test]
fn many_joins_at_once_that_are_no_circle_are_none() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(2).build().unwrap();
        for _ in 0..50 {
            let leaf = pool.submit(|| 0_u64);
            let last =
                (0..40).fold(leaf, |former, _| pool.submit(move || former.join().unwrap() + 1));
            assert_eq!(last.join().unwrap(), 40);
        }
    });
}

#[test]
fn the_message_says_what_to_do() {
    let error = JoinError::WouldDeadlock;
    assert!(error.to_string().contains("let one of them go on"), "{error}");
    assert_eq!(error.message(), None);
    assert_eq!(format!("{error:?}"), "WouldDeadlock");
}
