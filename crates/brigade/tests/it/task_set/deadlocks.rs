//! Waits for a set, and for futures by `block_on`, take part in the check for deadlocks.

use std::future::ready;
use std::sync::mpsc;

use brigade::{Handle, JoinError, JoinHandle, Pool, TaskSet, block_on};
use brigade_testkit::{Gate, test};

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

type Job = Box<dyn FnOnce() -> bool + Send>;

/// How a job submits another, makes the call, and waits. Returns whether one of the two got the error.
type Wait = fn(Handle, Job, &dyn Fn()) -> bool;
const WAITS: [(&str, Wait); 3] = [
    ("the next of a set", |here, job, meanwhile| {
        let mut set = TaskSet::new(here);
        set.submit(job);
        meanwhile();
        is_told(set.join_next())
    }),
    ("a whole set", |here, job, meanwhile| {
        let mut set = TaskSet::new(here);
        set.submit(job);
        meanwhile();
        !set.wait_all() || is_told(set.join_next())
    }),
    ("a handle that is blocked on", |here, job, meanwhile| {
        let job = here.submit(job);
        meanwhile();
        is_told(Some(block_on(job)))
    }),
];

/// The awaited job joins a future that no thread is left to poll, once the other job waits.
#[test((what, wait) in WAITS, spare in [0, 1])]
fn a_join_beside_a_waiting_job_ends(wait: Wait, spare: usize) {
    for _ in 0..20 {
        let pool = Pool::builder().threads(1).spare_threads(spare).build().unwrap();
        let here = pool.handle();
        let waits = pool.submit(move || {
            let begun = Gate::closed();
            let begins = begun.clone();
            let joins = Box::new(move || joins_a_future(here, &begins));
            wait(here, joins, &|| {
                if spare > 0 {
                    brigade::blocking(|| begun.wait());
                }
            })
        });
        assert!(!waits.join().unwrap());
    }
}

/// What has ended, and is not taken, does not make the check give up on the set.
#[test]
fn a_large_sets_job_joining_its_waiter_gets_an_error() {
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
