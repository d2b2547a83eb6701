//! The line is ordered by class, is counted, and leaves nothing behind.

use std::sync::{Arc, Mutex};

use brigade::{Builder, Cause, JoinError, Pool, Priority};
use brigade_testkit::{Drops, Gate, test};

use super::held;
use crate::support::crowd::for_both_queueings;

#[test(for_both_queueings)]
fn a_line_is_ordered_by_class(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    let log = Arc::new(Mutex::new(Vec::new()));
    limited.execute(gate.job());
    for number in 0..9 {
        let class = [Priority::Low, Priority::Normal, Priority::High][number % 3];
        let (limited, log) = (limited.clone(), log.clone());
        let submit = move || {
            limited.execute(move || {
                assert_eq!(brigade::current_priority(), class);
                log.lock().unwrap().push(number);
            });
        };
        pool.job().priority(class).submit(submit).unwrap().join().unwrap();
    }
    gate.open();
    pool.wait_idle();
    assert_eq!(*log.lock().unwrap(), [2, 5, 8, 1, 4, 7, 0, 3, 6]);
    assert_eq!(pool.metrics().panicked, 0);
}

#[test(for_both_queueings)]
fn jobs_in_line_are_accepted_and_queued(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    drop(held(&limited, &gate));
    let jobs: Vec<_> = (0..10).map(|_| limited.submit(|| ())).collect();
    let metrics = pool.metrics();
    let counts = (metrics.accepted, metrics.queued, metrics.queued_limited);
    assert_eq!(counts, (11, 10, 10));
    assert_eq!(pool.dump().queued_limited, 10);
    assert!(pool.dump().to_string().contains("10 jobs wait for their turn"));
    assert!(jobs[3].cancel() && jobs[9].cancel());
    gate.open();
    pool.wait_idle();
    let metrics = pool.metrics();
    let counts = (metrics.accepted, metrics.returned, metrics.cancelled, metrics.queued_limited);
    assert_eq!(counts, (11, 9, 2, 0));
}

#[test(for_both_queueings)]
fn a_job_cancelled_in_line_is_dropped_at_once(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, gate, drops) = (pool.limited(1), Gate::closed(), Drops::default());
    limited.execute(gate.job());
    let job = || {
        let token = drops.token();
        limited.submit(move || drop(token))
    };
    let (first, second) = (job(), job());
    let token = drops.token();
    let polled = limited.spawn(async { drop(token) });
    assert!(second.cancel() && drops.count() == 1);
    assert!(polled.cancel() && drops.count() == 2);
    gate.open();
    first.join().unwrap();
    assert!(matches!(second.join(), Err(JoinError::Cancelled(Cause::Asked))));
    assert!(matches!(polled.join(), Err(JoinError::Cancelled(Cause::Asked))));
    pool.wait_idle();
    assert_eq!((drops.count(), pool.metrics().accepted), (3, 4));
}

/// Cancelled while the pool has it, so its turn is over.
#[test(for_both_queueings)]
fn a_job_cancelled_on_the_pool_gives_its_turn_to_the_next(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    pool.execute(gate.job());
    let first = limited.submit(|| 1);
    let second = limited.submit(|| 2);
    assert_eq!(pool.metrics().queued_limited, 1);
    assert!(first.cancel());
    assert_eq!(pool.metrics().queued_limited, 0);
    gate.open();
    assert_eq!(second.join().unwrap(), 2);
}

/// A completed entry may stay in line for a while, among few.
#[test(for_both_queueings)]
fn cancelled_jobs_leave_the_line(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    limited.execute(gate.job());
    let stays = limited.submit(|| 42);
    for _ in 0..10_000 {
        assert!(limited.submit(|| 0).cancel());
        assert!(pool.metrics().queued_limited < 200);
    }
    gate.open();
    assert_eq!(stays.join().unwrap(), 42);
    pool.wait_idle();
    let metrics = pool.metrics();
    let counts = (metrics.accepted, metrics.cancelled, metrics.returned, metrics.queued);
    assert_eq!(counts, (10_002, 10_000, 2, 0));
}

/// Each with a job in line.
#[test]
fn a_view_for_each_of_many_tenants() {
    let pool = Pool::new(2);
    let gate = Gate::closed();
    pool.execute(gate.job());
    let jobs: Vec<_> = (0..10_000)
        .flat_map(|tenant| {
            let limited = pool.limited(1);
            [limited.submit(move || tenant), limited.submit(move || tenant)]
        })
        .collect();
    gate.open();
    let sum: u64 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    assert_eq!(sum, 9_999 * 10_000);
}
