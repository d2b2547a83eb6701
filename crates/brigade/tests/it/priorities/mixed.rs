//! Whatever the classes are: each accepted job has exactly one outcome, and the counters add up.

use super::CLASSES;
use crate::support::busy::{occupy, open_once_closed};
use brigade::{Pool, Priority, Shutdown};
use brigade_testkit::{Gate, test};

#[test]
fn a_discarded_pool_drops_every_class() {
    let pool = Pool::new(1);
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let jobs = CLASSES.map(|class| pool.job().priority(class).submit(|| ()).unwrap());
    open_once_closed(&gate, pool.handle());
    assert_eq!(pool.shutdown(Shutdown::Discard).discarded, 3);
    assert!(jobs.into_iter().all(|job| job.join().unwrap_err().is_cancelled()));
}

#[test]
fn a_closed_pool_rejects_and_runs_every_class() {
    let pool = Pool::new(1);
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let handle = pool.handle();
    let jobs = CLASSES.map(|class| {
        // Its child comes from inside, which a closed pool accepts.
        let job = pool.job().priority(class).submit(move || handle.submit(|| 42));
        job.unwrap()
    });
    pool.close();
    for class in CLASSES {
        let refused = pool.job().priority(class).execute(|| ());
        assert_eq!(refused.unwrap_err().reason(), brigade::Reason::Closed);
    }
    gate.open();
    for job in jobs {
        assert_eq!(job.join().unwrap().join().unwrap(), 42);
    }
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 7);
}

/// A job that is joined or cancelled leaves its entry behind: these are swept out, as in the other queues.
#[test(class in CLASSES)]
fn completed_entries_do_not_accumulate(class: Priority) {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let most = pool.submit(move || {
        let mut most = 0;
        for number in 0..10_000 {
            let job = handle.job().priority(class).submit(|| ()).unwrap();
            if number % 2 == 0 {
                job.join().unwrap();
            } else {
                _ = job.cancel();
            }
            most = most.max(handle.metrics().queued);
        }
        most
    });
    let most = most.join().unwrap();
    assert!(most <= 512, "{most} entries of class {class:?}");
}
