//! Submissions and parking that race the end of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::reports::counts;
use brigade::{Handle, JoinError, JoinHandle, Pool, Shutdown, WhenFull};
use brigade_testkit::{Seed, Watchdog, spin_for};

/// The outcomes of one submitter's attempts.
struct Attempts {
    accepted: Vec<JoinHandle<()>>,
    rejected: usize,
}

/// Submits until the pool is closed, and runs rejected jobs.
fn submit_until_closed(pool: Handle, ran: &Arc<AtomicUsize>) -> Attempts {
    let mut attempts = Attempts { accepted: Vec::new(), rejected: 0 };
    while attempts.rejected < 3 {
        let ran = Arc::clone(ran);
        match pool.job().submit(move || _ = ran.fetch_add(1, Ordering::Relaxed)) {
            Ok(job) => attempts.accepted.push(job),
            Err(rejected) => {
                rejected.into_inner()();
                attempts.rejected += 1;
            }
        }
    }
    attempts
}

fn race(how: Shutdown, seed: &mut Seed) -> usize {
    let (pool, ran) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
    let handle = pool.handle();
    let (attempts, report) = thread::scope(|scope| {
        let submitters = [(); 2].map(|()| scope.spawn(|| submit_until_closed(handle, &ran)));
        spin_for(seed.micros(200));
        let report = pool.shutdown(how);
        (submitters.map(|submitter| submitter.join().unwrap()), report)
    });
    let (mut returned, mut discarded) = (0, 0);
    let rejected: usize = attempts.iter().map(|attempts| attempts.rejected).sum();
    for mut job in attempts.into_iter().flat_map(|attempts| attempts.accepted) {
        match job.try_join().expect("accepted, and shutdown has returned: an outcome") {
            Ok(()) => returned += 1,
            Err(JoinError::Cancelled) => discarded += 1,
            Err(other) => unreachable!("nothing panics here: {other}"),
        }
    }
    assert_eq!(counts(report), (returned, discarded, 0));
    assert_eq!(ran.load(Ordering::Relaxed), returned as usize + rejected);
    assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
    (returned + discarded) as usize + rejected
}

/// As above with a full pool, where submitters are about to wait, run jobs or drop them as it ends.
fn race_while_full(policy: WhenFull, how: Shutdown, seed: &mut Seed) -> usize {
    let builder = Pool::builder().threads(2).capacity(2).when_full(policy);
    let (pool, ran) = (builder.build().unwrap(), Arc::new(AtomicUsize::new(0)));
    let handle = pool.handle();
    let (attempts, report) = thread::scope(|scope| {
        let submitters = [(); 2].map(|()| scope.spawn(|| submit_until_closed(handle, &ran)));
        spin_for(seed.micros(200));
        let report = pool.shutdown(how);
        (submitters.map(|submitter| submitter.join().unwrap()), report)
    });
    let rejected: usize = attempts.iter().map(|attempts| attempts.rejected).sum();
    let accepted = attempts.into_iter().flat_map(|attempts| attempts.accepted);
    let outcomes: Vec<_> = accepted.map(|mut job| job.try_join().expect("an outcome")).collect();
    let returned = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let accepted = report.ran + report.discarded + report.still_running;
    assert_eq!(accepted, outcomes.len() as u64, "{policy:?}: {report:?}");
    // A submitter may be running or dropping a job that was accepted before the end.
    assert!(report.still_running <= 2 && report.ran <= returned as u64, "{policy:?}: {report:?}");
    if policy == WhenFull::Block {
        assert_eq!(report.still_running, 0);
    }
    assert_eq!(ran.load(Ordering::Relaxed), returned + rejected);
    assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
    outcomes.len() + rejected
}

#[test]
fn a_submission_to_a_full_pool_that_races_its_end_is_accounted_for() {
    let _dog = Watchdog::start(120);
    let mut seed = Seed::printed();
    for policy in [
        WhenFull::Block,
        WhenFull::BlockFor(Duration::MAX),
        WhenFull::RunInCaller,
        WhenFull::DropOldest,
        WhenFull::DropNewest,
    ] {
        for how in [Shutdown::Drain, Shutdown::Discard] {
            let mut attempts = 0;
            while attempts < 4_000 {
                attempts += race_while_full(policy, how, &mut seed);
            }
        }
    }
}

#[test]
fn a_submission_that_races_drain_is_run_or_given_back() {
    let _dog = Watchdog::start(60);
    let (mut seed, mut attempts) = (Seed::printed(), 0);
    while attempts < 20_000 {
        attempts += race(Shutdown::Drain, &mut seed);
    }
}

#[test]
fn a_submission_that_races_discard_is_run_cancelled_or_given_back() {
    let _dog = Watchdog::start(60);
    let (mut seed, mut attempts) = (Seed::printed(), 0);
    while attempts < 20_000 {
        attempts += race(Shutdown::Discard, &mut seed);
    }
}

#[test]
fn a_batch_that_races_shutdown_is_accounted_for_job_by_job() {
    let _dog = Watchdog::start(60);
    let mut seed = Seed::printed();
    for round in 0..300 {
        let (pool, ran) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
        let handle = pool.handle();
        let jobs: Vec<_> = (0..100)
            .map(|_| {
                let ran = Arc::clone(&ran);
                move || _ = ran.fetch_add(1, Ordering::Relaxed)
            })
            .collect();
        let submitter = thread::spawn(move || handle.job().execute_batch(jobs));
        spin_for(seed.micros(60));
        let how = if round % 2 == 0 { Shutdown::Drain } else { Shutdown::Discard };
        let report = pool.shutdown(how);
        let given_back = submitter.join().unwrap().err().map_or(Vec::new(), |r| r.into_inner());
        assert_eq!(ran.load(Ordering::Relaxed) as u64, report.ran, "round {round}");
        assert_eq!(report.ran + report.discarded + given_back.len() as u64, 100, "round {round}");
        drop(given_back);
        assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
    }
}

/// W2: rayon's sleeping workers once missed the end.
#[test]
fn two_thousand_parked_pools_end_when_dropped() {
    let _dog = Watchdog::start(60);
    let mut seed = Seed::printed();
    for _ in 0..2000 {
        let pool = Pool::new(2);
        spin_for(seed.micros(50));
        drop(pool);
    }
}

#[test]
fn pools_dropped_just_after_their_last_job_end() {
    let _dog = Watchdog::start(60);
    let mut seed = Seed::printed();
    for _ in 0..1000 {
        let pool = Pool::new(2);
        pool.submit(|| ()).join().unwrap();
        spin_for(seed.micros(50));
        drop(pool);
    }
}
