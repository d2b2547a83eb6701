//! One pool from its building to its end, and the account of its jobs.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Pool, Report, Shutdown};
use fastrand::Rng;

use crate::doing::Doing;
use crate::ledger::{Ledger, Ticket};
use crate::plan::{self, End, Plan};
use crate::progress::Underway;
use crate::submitter::{Submitter, produce};

/// How long jobs and threads that can't be joined may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lives one life; returns how many jobs the pool accepted.
pub(crate) fn live(random: &mut Rng) -> u64 {
    let plan = Plan::random(random);
    let _underway = Underway::begin(format!("{plan:?}"));
    // Its first thread is one of those that can't be started, perhaps.
    let Ok(pool) = plan.builder(random.fork()).build() else { return 0 };
    let ledger = Ledger::new(&plan);
    work_and_rest(&pool, &plan, &ledger, random);
    end_under_load(pool, &plan, &ledger, random);
    // Every closure has been dropped with its captures, whatever its outcome.
    eventually(|| Arc::strong_count(&ledger) == 1, || format!("closures are left: {ledger:?}"));
    ledger.sums().accepted
}

/// Producers come and go; when the last has gone and the pool is quiet, its counters are exact and it has all its room.
fn work_and_rest(pool: &Pool, plan: &Plan, ledger: &Arc<Ledger>, random: &mut Rng) {
    thread::scope(|scope| {
        for _ in 0..plan.producers {
            let random = random.fork();
            scope.spawn(move || produce(pool.handle(), Some(pool), ledger, plan.calls, random));
        }
    });
    // A timer or a future that sleeps keeps no pool from being idle.
    assert_all_end(ledger);
    assert!(pool.wait_idle());
    ledger.sums().assert_agrees_with_metrics(&pool.metrics());
    let mut last = Submitter::new(pool.handle(), ledger, random.fork(), u32::MAX);
    for _ in 0..plan.capacity.map_or(0, |(jobs, _)| jobs) {
        last.submit_to_one_with_room();
    }
    assert!(pool.wait_idle());
    ledger.sums().assert_agrees_with_metrics(&pool.metrics());
}

/// The pool ends at some moment while others submit; its report must match the outcomes of the jobs.
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
        ledger.end();
        end(pool, plan.end, ledger, random)
    });
    assert!(
        handle.metrics().is_closed && handle.try_execute(|| ()).is_err(),
        "accepted after the end"
    );
    // Without a wait for the threads, waits for the jobs.
    assert_all_end(ledger);
    if let Some(report) = report {
        ledger.sums().assert_agrees_with_report(&report);
    }
}

/// Each accepted job has an outcome, soon.
fn assert_all_end(ledger: &Ledger) {
    let sums = || ledger.sums();
    let have_ended = || sums().accepted == sums().outcomes();
    eventually(have_ended, || format!("jobs without an outcome: {:?}", sums()));
}

fn eventually(has_come: impl Fn() -> bool, else_say: impl Fn() -> String) {
    let limit = Instant::now() + PATIENCE;
    while !has_come() {
        assert!(Instant::now() < limit, "{}", else_say());
        thread::yield_now();
    }
}

/// The report, if there is one that is final.
fn end(pool: Pool, how: End, ledger: &Arc<Ledger>, random: &mut Rng) -> Option<Report> {
    match how {
        End::Drop => drop(pool),
        End::DropInside => drop_inside(pool, ledger),
        End::Shutdown(how) => return Some(pool.shutdown(how)),
        End::Timeout(how, patience) => _ = pool.shutdown(how.timeout(patience)),
        End::Close(how) => return Some(close_first(pool, how, random)),
        End::Detach => _ = pool.shutdown(Shutdown::Drain.timeout(Duration::ZERO)),
    }
    None
}

fn close_first(pool: Pool, how: Shutdown, random: &mut Rng) -> Report {
    thread::scope(|scope| {
        scope.spawn(|| pool.close());
        pool.close();
        assert!(pool.handle().metrics().is_closed);
    });
    if random.bool() {
        pool.resize(plan::size(random)).expect("a size that a pool can have");
    }
    if random.bool() {
        assert!(pool.wait_idle());
    }
    pool.shutdown(how)
}

/// Drops the pool in one of its own jobs, or on the thread that runs that job for lack of room; here if it is rejected.
fn drop_inside(pool: Pool, ledger: &Arc<Ledger>) {
    let handle = pool.handle();
    let pool = Arc::new(Mutex::new(Some(pool)));
    let (dropped, mut ticket) = (Arc::clone(&pool), Ticket::new(ledger));
    let take = |pool: &Mutex<Option<Pool>>| pool.lock().unwrap().take();
    let submitted = Doing::Submitting.during(|| {
        handle.job().submit(move || {
            Doing::Other.during(|| {
                let _ledger = ticket.called();
                drop(take(&dropped));
                ticket.returns();
            });
        })
    });
    match submitted {
        Ok(job) => {
            ledger.submitted(1, 0);
            let _ = job.join();
        }
        Err(_) => ledger.submitted(0, 1),
    }
    drop(take(&pool));
}
