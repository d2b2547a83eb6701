//! The guarantees of every configuration of the pool: the body of the policy table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::policy::for_every_row;
use brigade::{Cause, Handle, JoinError, Pool, Shutdown};
use brigade_testkit::{Gate, test};

/// One counter per job: all of them must end at one.
#[derive(Clone)]
struct Tally(Arc<Vec<AtomicU32>>);

impl Tally {
    fn of(jobs: usize) -> Self {
        Self(Arc::new((0..jobs).map(|_| AtomicU32::new(0)).collect()))
    }

    fn count(&self, job: usize) {
        self.0[job].fetch_add(1, Ordering::Relaxed);
    }

    fn job(&self, job: usize) -> impl FnOnce() + Send + 'static {
        let tally = self.clone();
        move || tally.count(job)
    }

    #[track_caller]
    fn assert_once_each(&self) {
        for (job, runs) in self.0.iter().enumerate() {
            assert_eq!(runs.load(Ordering::Relaxed), 1, "runs of job {job}");
        }
    }
}

/// The pool the calling job runs on.
fn here() -> Handle {
    Handle::current().expect("a job runs on a worker")
}

/// Submits a thousand jobs.
type Load = fn(&Pool, Tally);
const LOADS: [(&str, Load); 4] = [
    ("from outside", |pool, tally| {
        let handle = pool.handle();
        thread::scope(|scope| {
            scope.spawn(|| (0..500).for_each(|job| handle.execute(tally.job(job))));
            scope.spawn(|| (500..1000).for_each(|job| pool.execute(tally.job(job))));
        });
    }),
    ("chains", |pool, tally| {
        fn step(left: usize, tally: Tally) {
            tally.count(left);
            if left % 100 != 0 {
                here().execute(move || step(left - 1, tally));
            }
        }
        for chain in 0..10 {
            let tally = tally.clone();
            pool.execute(move || step(chain * 100 + 99, tally));
        }
    }),
    ("children of one job", |pool, tally| {
        pool.execute(move || (0..1000).for_each(|job| here().execute(tally.job(job))));
    }),
    ("batches", |pool, tally| {
        pool.job().execute_batch((0..300).map(|job| tally.job(job))).unwrap();
        pool.handle().job().execute_batch((300..600).map(|job| tally.job(job))).unwrap();
        pool.job().execute_batch(std::iter::empty::<fn()>()).unwrap();
        pool.execute(move || {
            here().job().execute_batch((600..1000).map(|job| tally.job(job))).unwrap();
            here().job().execute_batch(std::iter::empty::<fn()>()).unwrap();
        });
    }),
];

#[test((load, submit) in LOADS, for_every_row)]
fn jobs_run_exactly_once_in_every_row(pool: Pool, submit: Load) {
    let tally = Tally::of(1000);
    submit(&pool, tally.clone());
    pool.wait_idle();
    tally.assert_once_each();
}

#[test(for_every_row)]
fn submitted_jobs_return_values_in_every_row(pool: Pool) {
    let outside: Vec<_> = (0..100).map(|n| pool.submit(move || n * 2)).collect();
    let inside = pool.submit(|| {
        let children: Vec<_> = (0..100).map(|n| brigade::submit(move || n * 3)).collect();
        children.into_iter().map(|child| child.join().unwrap()).collect::<Vec<usize>>()
    });
    for (n, job) in outside.into_iter().enumerate() {
        assert_eq!(job.join().unwrap(), n * 2);
    }
    let inside = inside.join().unwrap();
    assert!(inside.into_iter().enumerate().all(|(n, value)| value == n * 3));
}

#[test(for_every_row)]
fn panics_lose_no_other_job_in_every_row(pool: Pool) {
    let tally = Tally::of(300);
    let jobs: Vec<_> = (0..300)
        .map(|job| {
            let tally = tally.clone();
            pool.submit(move || {
                tally.count(job);
                assert!(job % 3 != 0, "expected: every third");
            })
        })
        .collect();
    for (n, job) in jobs.into_iter().enumerate() {
        let panicked = matches!(job.join(), Err(JoinError::Panicked(_)));
        assert_eq!(panicked, n % 3 == 0, "job {n}");
    }
    pool.wait_idle();
    tally.assert_once_each();
    assert_eq!((pool.metrics().panicked, pool.metrics().returned), (100, 200));
}

/// S15: `executors` ran none of a thousand jobs before its shutdown returned `Ok`.
#[test(for_every_row)]
fn drain_runs_jobs_and_children_in_every_row(pool: Pool) {
    let tally = Tally::of(400);
    for job in 0..200 {
        let (tally, child) = (tally.clone(), tally.job(job + 200));
        pool.execute(move || {
            tally.count(job);
            assert!(brigade::try_execute(child).is_ok(), "a draining job may spawn");
        });
    }
    let report = pool.shutdown(Shutdown::Drain);
    assert_eq!((report.ran, report.discarded, report.still_running), (400, 0, 0));
    tally.assert_once_each();
}

/// S15, the other way out: a job that did not run says so.
#[test(for_every_row)]
fn discard_counts_every_job_in_every_row(pool: Pool) {
    let (gate, ran) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
    occupy(&pool, &gate);
    let busy = *pool.size().end() as u64;
    let jobs: Vec<_> = (0..200)
        .map(|_| {
            let ran = Arc::clone(&ran);
            pool.submit(move || ran.fetch_add(1, Ordering::Relaxed))
        })
        .collect();
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    assert_eq!((report.ran, report.discarded, report.still_running), (busy, 200, 0));
    assert!(
        jobs.into_iter().all(|job| matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended))))
    );
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[test(for_every_row)]
fn metrics_add_up_in_every_row(pool: Pool) {
    for n in 0..100 {
        pool.execute(move || {
            brigade::execute(|| ());
            assert!(n % 10 != 0, "expected: every tenth");
        });
    }
    pool.wait_idle();
    let sums = pool.metrics();
    assert_eq!((sums.accepted, sums.returned, sums.panicked), (200, 190, 10));
    assert_eq!((sums.cancelled, sums.queued, sums.running), (0, 0, 0));
    assert_eq!(sums.workers.len(), *pool.size().end());
    assert_eq!(sums.workers.iter().map(|worker| worker.run).sum::<u64>(), 200);
    assert_eq!(sums.workers.iter().map(|worker| worker.panics).sum::<u64>(), 10);
    assert_eq!(sums.workers.iter().map(|worker| worker.queued).sum::<u64>(), 0);
    drop(pool);
}

#[test(for_every_row)]
fn a_job_waits_for_20_generations_in_every_row(pool: Pool) {
    fn nest(depth: u32) -> u32 {
        if depth == 0 { 0 } else { 1 + here().submit(move || nest(depth - 1)).join().unwrap() }
    }
    assert_eq!(pool.submit(|| nest(20)).join().unwrap(), 20);
}
