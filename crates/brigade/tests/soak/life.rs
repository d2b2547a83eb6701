//! One pool from its building to its end, and the account of its jobs.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Pool, Report};
use fastrand::Rng;

use crate::ledger::Ledger;
use crate::plan::{End, Plan};
use crate::progress::Underway;
use crate::work::produce;

/// Lives one life; returns how many jobs the pool accepted.
pub(crate) fn live(random: &mut Rng) -> u64 {
    let plan = Plan::random(random);
    let _underway = Underway::begin(format!("{plan:?}"));
    // Its first thread is one of those that can't be started, perhaps.
    let Ok(pool) = plan.builder(random.fork()).build() else { return 0 };
    let ledger = Arc::new(Ledger::default());
    work_and_rest(&pool, &plan, &ledger, random);
    end_under_load(pool, &plan, &ledger, random);
    ledger.sums().accepted
}

/// Producers come and go; when the last has gone and the pool is quiet, its counters are exact.
fn work_and_rest(pool: &Pool, plan: &Plan, ledger: &Arc<Ledger>, random: &mut Rng) {
    thread::scope(|scope| {
        for _ in 0..plan.producers {
            let random = random.fork();
            scope.spawn(move || produce(pool.handle(), Some(pool), ledger, plan.calls, random));
        }
    });
    assert!(pool.wait_idle());
    ledger.sums().assert_agrees_with_metrics(&pool.metrics());
}

/// The pool ends at some moment while others submit; what it then reports has to be what became of the jobs.
fn end_under_load(pool: Pool, plan: &Plan, ledger: &Arc<Ledger>, random: &mut Rng) {
    let handle = pool.handle();
    let delay = Duration::from_micros(random.u64(0..300));
    let report = thread::scope(|scope| {
        for _ in 0..plan.producers {
            let random = random.fork();
            scope.spawn(move || produce(handle, None, ledger, plan.calls / 2, random));
        }
        let begun = Instant::now();
        while begun.elapsed() < delay {
            thread::yield_now();
        }
        end(pool, plan.end, ledger)
    });
    assert!(handle.execute(|| ()).is_err(), "accepted after the end");
    // Who did not wait for the threads waits for the jobs.
    let limit = Instant::now() + Duration::from_secs(30);
    while ledger.sums().accepted != ledger.sums().outcomes() {
        assert!(Instant::now() < limit, "jobs without an outcome: {:?}, {report:?}", ledger.sums());
        thread::yield_now();
    }
    if let Some(report) = report {
        ledger.sums().assert_agrees_with_report(&report);
    }
}

/// The report, if there is one that is final.
fn end(pool: Pool, how: End, ledger: &Ledger) -> Option<Report> {
    match how {
        End::Drop => drop(pool),
        End::DropInside => drop_inside(pool, ledger),
        End::Shutdown(how) => return Some(pool.shutdown(how)),
        End::Timeout(how, patience) => _ = pool.shutdown_timeout(how, patience),
    }
    None
}

/// Has the pool dropped by one of its own jobs, and waits for that.
fn drop_inside(pool: Pool, ledger: &Ledger) {
    let (send, receive) = mpsc::channel::<Pool>();
    let (done, wait) = mpsc::channel();
    let accepted = pool.handle().execute(move || {
        drop(receive.recv().expect("it is sent below"));
        done.send(()).expect("it is waited for");
    });
    if accepted.is_ok() {
        ledger.submitted(1, 0);
        send.send(pool).expect("the job waits");
        wait.recv().expect("the job tells");
        ledger.returned_without_a_ticket();
    }
}
