//! `Placement`: where a worker is woken is no lasting restriction of where it may run.

#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};
use std::{fs, hint, thread};

use crate::support::crowd::await_idle_workers;
use crate::support::roll_call::on_every_worker;
use brigade::{Placement, Pool};
use brigade_testkit::test;

/// The CPUs that the calling thread may run on, according to the kernel.
fn allowed() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:"));
    line.expect("the kernel says it").to_owned()
}

#[test]
fn spread_leaves_the_affinity_of_every_worker_as_it_was() {
    let mine = allowed();
    for placement in [Placement::Spread, Placement::Kernel] {
        let pool = Pool::builder().threads(4).prestart(4).placement(placement).build().unwrap();
        for round in 0..200 {
            if round % 10 == 0 {
                // This round wakes each.
                await_idle_workers(&pool, 4);
            }
            pool.submit(|| ()).join().unwrap();
            assert_eq!(on_every_worker(&pool, allowed), [&*mine; 4], "round {round}");
        }
    }
}

/// The first job after a wake is the one a hint for that wake could still be in force for.
#[test]
fn a_job_that_was_woken_for_may_run_anywhere() {
    let mine = allowed();
    let builder = Pool::builder().threads(2).prestart(2).placement(Placement::Spread);
    let pool = builder.build().unwrap();
    for round in 0..200 {
        await_idle_workers(&pool, 2);
        assert_eq!(pool.submit(allowed).join().unwrap(), mine, "round {round}");
        let child = pool.submit(|| brigade::submit(allowed)).join().unwrap();
        assert_eq!(child.join().unwrap(), mine, "the child in round {round}");
    }
    assert_eq!(allowed(), mine, "nor is the submitter moved");
}

/// A worker that goes on moves a peer that it has woken.
#[test]
fn the_jobs_of_a_job_that_goes_on_may_run_anywhere() {
    let mine = allowed();
    let pool = Pool::builder().threads(2).placement(Placement::Spread).build().unwrap();
    for round in 0..100 {
        let jobs = pool.submit(|| {
            let job = || {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(20) {
                    hint::spin_loop();
                }
                allowed()
            };
            (0..16).map(|_| brigade::submit(job)).collect::<Vec<_>>()
        });
        for job in jobs.join().unwrap() {
            assert_eq!(job.join().unwrap(), mine, "round {round}");
        }
    }
}

/// Threads started by a job inherit the worker's affinity: a temporary affinity must not leak
/// through that either.
#[test]
fn threads_started_by_jobs_may_run_anywhere() {
    let mine = allowed();
    let pool = Pool::builder().threads(4).placement(Placement::Spread).build().unwrap();
    for _ in 0..20 {
        let inherited = on_every_worker(&pool, || thread::spawn(allowed).join().unwrap());
        assert_eq!(inherited, [&*mine; 4]);
    }
}

/// The second thread starts with the first job, usually on another CPU, and most often parks last. In its last look before it sleeps
/// it may find a job, which counts for little in 50 pools.
#[test]
fn a_worker_that_has_run_a_job_is_woken_before_one_that_has_run_none() {
    let stays_on_one_worker = || {
        let pool = Pool::new(2);
        await_idle_workers(&pool, 1);
        let mut workers = (0..3).map(|_| {
            let worker = pool.submit(brigade::current_worker_index).join().unwrap();
            await_idle_workers(&pool, 2);
            worker
        });
        let first = workers.next();
        workers.all(|worker| Some(worker) == first)
    };
    let stay = (0..50).filter(|_| stays_on_one_worker()).count();
    assert!(stay > 40, "{stay} of 50 pools");
}
