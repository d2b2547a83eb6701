//! Submissions, growth and parking that race the end of the pool: nothing hangs, and each accepted job has an outcome.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::for_both_queueings;
use crate::support::reports::counts;
use brigade::{Builder, Handle, JoinError, JoinHandle, Pool, Report, Shutdown, WhenFull};
use brigade_testkit::{Seed, spin_for, test};

/// The jobs of some submitters: those that were accepted, and how many were rejected.
#[derive(Default)]
struct Submitted {
    accepted: Vec<JoinHandle<()>>,
    rejected: usize,
}

/// Submits until the pool is closed, and runs rejected jobs.
fn submit_until_closed(pool: Handle, ran: &Arc<AtomicUsize>, work: fn()) -> Submitted {
    let mut submitted = Submitted::default();
    while submitted.rejected < 3 {
        let ran = Arc::clone(ran);
        let job = move || {
            work();
            ran.fetch_add(1, Ordering::Relaxed);
        };
        match pool.job().submit(job) {
            Ok(job) => submitted.accepted.push(job),
            Err(rejected) => {
                rejected.into_inner()();
                submitted.rejected += 1;
            }
        }
        if submitted.accepted.len() % 8 == 0 {
            // So that the queue does not outgrow the jobs that the pool can drain.
            thread::yield_now();
        }
    }
    submitted
}

/// What one race came to.
struct Raced {
    report: Report,
    returned: u64,
    cancelled: u64,
    /// Jobs that were accepted or rejected.
    submitted: usize,
}

/// Two threads submit jobs to a pool that is shut down after some time.
fn race(builder: Builder, how: Shutdown, work: fn(), pause: Duration) -> Raced {
    let (pool, ran) = (builder.build().unwrap(), Arc::new(AtomicUsize::new(0)));
    let handle = pool.handle();
    let (submitted, report) = thread::scope(|scope| {
        let submitters = [(); 2].map(|()| scope.spawn(|| submit_until_closed(handle, &ran, work)));
        spin_for(pause);
        let report = pool.shutdown(how);
        (submitters.map(|submitter| submitter.join().unwrap()), report)
    });
    let rejected: usize = submitted.iter().map(|submitted| submitted.rejected).sum();
    let (mut returned, mut cancelled) = (0, 0);
    for mut job in submitted.into_iter().flat_map(|submitted| submitted.accepted) {
        match job.try_join().expect("accepted, and the shutdown has returned: an outcome") {
            Ok(()) => returned += 1,
            Err(JoinError::Cancelled) => cancelled += 1,
            Err(other) => unreachable!("nothing panics here: {other}"),
        }
    }
    assert_eq!(ran.load(Ordering::Relaxed), returned as usize + rejected);
    assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
    Raced { report, returned, cancelled, submitted: (returned + cancelled) as usize + rejected }
}

/// Submitters are about to wait, run jobs or drop them as the pool ends.
#[test(120)]
fn a_submission_to_a_full_pool_that_races_its_end_is_accounted_for() {
    let mut seed = Seed::printed();
    for policy in [
        WhenFull::Block,
        WhenFull::BlockFor(Duration::MAX),
        WhenFull::RunInCaller,
        WhenFull::DropOldest,
        WhenFull::DropNewest,
    ] {
        for how in [Shutdown::Drain, Shutdown::Discard] {
            let mut submitted = 0;
            while submitted < 4_000 {
                let builder = Pool::builder().threads(2).capacity(2).when_full(policy);
                let raced = race(builder, how, || (), seed.micros(200));
                let Report { ran, discarded, still_running, .. } = raced.report;
                let accepted = raced.returned + raced.cancelled;
                assert_eq!(ran + discarded + still_running, accepted, "{policy:?}");
                // A submitter may be running or dropping a job that was accepted before the end.
                let most = if policy == WhenFull::Block { 0 } else { 2 };
                assert!(still_running <= most && ran <= raced.returned, "{policy:?}");
                submitted += raced.submitted;
            }
        }
    }
}

#[test(120)]
fn a_submission_that_races_the_end_is_run_cancelled_or_returned() {
    let mut seed = Seed::printed();
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let mut submitted = 0;
        while submitted < 20_000 {
            let raced = race(Pool::builder().threads(2), how, || (), seed.micros(200));
            assert_eq!(counts(raced.report), (raced.returned, raced.cancelled, 0));
            assert!(raced.cancelled == 0 || how == Shutdown::Discard);
            submitted += raced.submitted;
        }
    }
}

/// Each second pool has no thread to begin with, and keeps those that it gets.
#[test(120)]
fn a_pool_that_ends_while_it_grows_runs_or_cancels_the_accepted_jobs() {
    let seed = RefCell::new(Seed::printed());
    let block = || brigade::blocking(|| spin_for(Duration::from_micros(20)));
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for round in 0..150 {
            for_both_queueings(|builder| {
                let mut seed = seed.borrow_mut();
                let builder = match round % 2 {
                    0 => {
                        let keep_alive = Duration::from_micros(seed.below(3) * 40);
                        builder.threads(1..=3).keep_alive(keep_alive)
                    }
                    _ => builder.threads(0..=3),
                };
                let raced = race(builder, how, block, seed.micros(300));
                assert_eq!(counts(raced.report), (raced.returned, raced.cancelled, 0));
            });
        }
    }
}

/// Its last thread leaves at about the moment at which it is dropped.
#[test(120)]
fn a_pool_dropped_while_its_threads_leave_ends() {
    let seed = RefCell::new(Seed::printed());
    for _ in 0..300 {
        for_both_queueings(|builder| {
            let keep_alive = Duration::from_micros(30);
            let builder = builder.threads(0..=2).keep_alive(keep_alive);
            let (pool, ran) = (builder.build().unwrap(), Arc::new(AtomicUsize::new(0)));
            let handle = pool.handle();
            let accepted = (0..3).filter(|_| {
                let ran = Arc::clone(&ran);
                handle.try_execute(move || _ = ran.fetch_add(1, Ordering::Relaxed)).is_ok()
            });
            let accepted = accepted.count();
            spin_for(seed.borrow_mut().micros(100));
            drop(pool);
            assert_eq!((ran.load(Ordering::Relaxed), Arc::strong_count(&ran)), (accepted, 1));
        });
    }
}

#[test(120)]
fn a_resize_that_races_the_end_changes_nothing_about_it() {
    let seed = RefCell::new(Seed::printed());
    for _ in 0..150 {
        for_both_queueings(|builder| {
            let pool = builder.threads(4).build().unwrap();
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                let ran = Arc::clone(&ran);
                pool.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
            }
            let pause = seed.borrow_mut().micros(60);
            pool.resize(1).unwrap();
            spin_for(pause);
            if pause.as_nanos() % 2 == 0 {
                pool.resize(6).unwrap();
            }
            assert_eq!(counts(pool.shutdown(Shutdown::Drain)), (20, 0, 0));
            assert_eq!(ran.load(Ordering::Relaxed), 20);
        });
    }
}

#[test]
fn a_batch_that_races_shutdown_is_accounted_for_job_by_job() {
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
        let returned = submitter.join().unwrap().err().map_or(Vec::new(), |r| r.into_inner());
        assert_eq!(ran.load(Ordering::Relaxed) as u64, report.ran, "round {round}");
        assert_eq!(report.ran + report.discarded + returned.len() as u64, 100, "round {round}");
        drop(returned);
        assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
    }
}

/// W2: rayon's parked workers once missed the end. After a job, a worker is about to park.
#[test]
fn pools_dropped_while_their_workers_park_end() {
    let mut seed = Seed::printed();
    for round in 0..3000 {
        let pool = Pool::new(2);
        if round % 3 == 0 {
            pool.submit(|| ()).join().unwrap();
        }
        spin_for(seed.micros(50));
        drop(pool);
    }
}
