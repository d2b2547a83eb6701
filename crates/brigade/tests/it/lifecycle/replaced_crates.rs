//! The defects reproduced in `executors` and `rusty_pool`, each with the behaviour that excludes
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::policy::queue_kinds;
use brigade::{Idle, JoinError, JoinHandle, Pool, Queueing, Shutdown};
use brigade_testkit::{Meeting, Seed, Watchdog, spin_for};

/// S9a: `rusty_pool` returned early 140 times in these rounds.
#[test]
fn wait_idle_never_returns_while_an_accepted_job_has_not_finished() {
    let _dog = Watchdog::start(30);
    let (pool, done) = (Pool::new(2), Arc::new(AtomicBool::new(false)));
    let begun = Instant::now();
    for round in 0..20_000 {
        done.store(false, Ordering::Relaxed);
        let job = Arc::clone(&done);
        pool.execute(move || job.store(true, Ordering::Relaxed));
        pool.wait_idle();
        assert!(done.load(Ordering::Relaxed), "returned early in round {round}");
        if begun.elapsed() > Duration::from_secs(4) {
            break;
        }
    }
}

/// S10: `rusty_pool` left 3 of 7,200 jobs on a queue that no thread looked at any more.
#[test]
fn a_job_submitted_while_a_worker_is_going_idle_is_never_stranded() {
    let _dog = Watchdog::start(60);
    let mut seed = Seed::printed();
    for queueing in [Queueing::Stealing, Queueing::Shared] {
        for idle in [Idle::Park, Idle::SpinThenPark(Duration::from_micros(20))] {
            for threads in [1, 2] {
                let builder = Pool::builder().threads(threads).queueing(queueing).idle(idle);
                rounds_of_add_and_wait(&builder.build().unwrap(), &mut seed);
            }
        }
    }
}

/// Every other job comes from a worker, just before that worker goes idle.
fn rounds_of_add_and_wait(pool: &Pool, seed: &mut Seed) {
    for round in 0..1500 {
        spin_for(seed.micros(60));
        if round % 2 == 0 {
            in_time(pool.submit(|| ()), round);
        } else {
            let child = in_time(pool.submit(|| brigade::submit(|| ())), round);
            in_time(child, round);
        }
    }
}

fn in_time<T>(mut job: JoinHandle<T>, round: u32) -> T {
    let outcome = job.join_timeout(Duration::from_secs(5));
    outcome.unwrap_or_else(|| panic!("the job of round {round} is stranded")).unwrap()
}

/// S13: the thread-local queue of `executors` was one for all pools.
#[test]
fn a_job_submitted_to_b_from_a_worker_of_a_runs_on_b() {
    let _dog = Watchdog::start(20);
    let named = |letter: &'static str| {
        Pool::builder().threads(2).name(move |i| format!("{letter}{i}")).build().unwrap()
    };
    let (a, b) = (named("pool-a-"), named("pool-b-"));
    let (to_a, to_b) = (a.handle(), b.handle());
    for _ in 0..500 {
        let there = move || {
            let to_b_and_back = to_b.submit(move || (name(), to_a.submit(name)));
            (name(), to_b_and_back)
        };
        let (first, rest) = a.submit(there).join().unwrap();
        let (second, rest) = rest.join().unwrap();
        let third = rest.join().unwrap();
        assert!(first.starts_with("pool-a-"), "{first}");
        assert!(second.starts_with("pool-b-"), "{second}");
        assert!(third.starts_with("pool-a-"), "{third}");
    }
}

fn name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// S14: on four workers `executors` took 500 ms and two threads for this.
#[test]
fn four_blocking_children_of_one_job_block_at_once_on_four_workers() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(4) {
        for _ in 0..10 {
            let meeting = Meeting::of(4);
            let children = pool.submit(move || [(); 4].map(|()| brigade::submit(meeting.job())));
            let met = children.join().unwrap().map(|child| child.join().unwrap());
            assert_eq!(met, [true; 4], "{kind}");
        }
    }
}

/// S15: `executors` ran none of a thousand jobs before its shutdown returned `Ok`.
#[test]
fn drain_has_run_all_of_a_thousand_accepted_jobs_when_it_returns() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..1000 {
            let ran = Arc::clone(&ran);
            pool.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
        }
        let report = pool.shutdown(Shutdown::Drain);
        assert_eq!((report.ran, report.discarded, report.still_running), (1000, 0, 0), "{kind}");
        assert_eq!(ran.load(Ordering::Relaxed), 1000, "{kind}");
    }
}

/// S15, the other way out: a job that did not run says so.
#[test]
fn discard_has_run_or_cancelled_all_of_a_thousand_accepted_jobs_when_it_returns() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        let job = || spin_for(Duration::from_micros(20));
        let mut jobs: Vec<_> = (0..1000).map(|_| pool.submit(job)).collect();
        let report = pool.shutdown(Shutdown::Discard);
        assert_eq!(report.ran + report.discarded, 1000, "{kind}: {report:?}");
        let outcomes = jobs.iter_mut().map(|job| job.try_join().expect("an outcome"));
        let cancelled = outcomes.filter(|outcome| match outcome {
            Ok(()) => false,
            Err(JoinError::Cancelled) => true,
            Err(other) => unreachable!("nothing panics here: {other}"),
        });
        assert_eq!(cancelled.count() as u64, report.discarded, "{kind}: {report:?}");
    }
}
