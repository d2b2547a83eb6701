//! Waits for a set, and for futures by `block_on`, take part in the check for deadlocks.

use std::future::ready;
use std::sync::mpsc;

use brigade::{Handle, JoinError, JoinHandle, Pool, TaskSet, block_on};
use brigade_testkit::{Gate, test};

/// A job of a set joins a future that no thread is left to poll, once the job that waits for the set does so. Returns whether
/// one of the two gets the error.
fn told(wait: impl FnOnce(TaskSet<bool>) -> bool + Send + 'static, spare: usize) -> bool {
    let pool = Pool::builder().threads(1).spare_threads(spare).build().unwrap();
    let here = pool.handle();
    let waits = pool.submit(move || {
        let (mut set, begun) = (TaskSet::new(here), Gate::closed());
        let begins = begun.clone();
        set.submit(move || joins_a_future(here, &begins));
        if spare > 0 {
            brigade::blocking(|| begun.wait());
        }
        wait(set)
    });
    waits.join().unwrap()
}

/// Whether the wait would have been endless.
fn joins_a_future(pool: Handle, begun: &Gate) -> bool {
    let future = pool.spawn(ready(()));
    begun.open();
    would_deadlock(future.join())
}

fn would_deadlock<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::WouldDeadlock))
}

/// Whether the set's job, or the wait for it, got the error.
fn is_told(outcome: Option<Result<bool, JoinError>>) -> bool {
    match outcome {
        Some(Ok(heard)) => heard,
        Some(outcome) => would_deadlock(outcome),
        None => false,
    }
}

#[test]
fn a_join_beside_a_wait_for_the_next_of_a_set_ends() {
    for spare in [0, 1] {
        for _ in 0..20 {
            assert!(!told(|mut set| is_told(set.join_next()), spare));
        }
    }
}

#[test]
fn a_join_beside_a_wait_for_a_whole_set_ends() {
    for spare in [0, 1] {
        for _ in 0..20 {
            let wait = |mut set: TaskSet<bool>| !set.wait_all() || is_told(set.join_next());
            assert!(!told(wait, spare));
        }
    }
}

#[test]
fn a_join_beside_a_job_that_blocks_on_a_handle_ends() {
    for _ in 0..20 {
        let pool = Pool::builder().threads(1).spare_threads(1).build().unwrap();
        let here = pool.handle();
        let waits = pool.submit(move || {
            let begun = Gate::closed();
            let begins = begun.clone();
            let job = here.submit(move || joins_a_future(here, &begins));
            brigade::blocking(|| begun.wait());
            is_told(Some(block_on(job)))
        });
        assert!(!waits.join().unwrap());
    }
}

/// What has ended, and is not taken, does not make the check give up on the set.
#[test]
fn a_job_of_a_large_set_that_joins_the_job_that_waits_for_the_set_gets_an_error() {
    let pool = Pool::new(2);
    let here = pool.handle();
    let (own, take_own) = mpsc::channel::<JoinHandle<()>>();
    let (told, tells) = mpsc::channel();
    let waits = pool.submit(move || {
        let (mut set, begun) = (TaskSet::new(here), Gate::closed());
        let begins = begun.clone();
        let joins = move || {
            let waits = take_own.recv().unwrap();
            begins.open();
            would_deadlock(waits.join())
        };
        set.submit(joins);
        brigade::blocking(|| begun.wait());
        for _ in 0..100 {
            set.submit(|| false);
        }
        let goes_on = set.wait_all();
        told.send(!goes_on || set.outcomes().any(|heard| heard.unwrap())).unwrap();
    });
    own.send(waits).unwrap();
    assert!(tells.recv().unwrap());
}
