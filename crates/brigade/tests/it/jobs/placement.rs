//! `Placement`: where a worker is woken is no lasting restriction of where it may run.

#![cfg(target_os = "linux")]

use std::time::Duration;
use std::{fs, thread};

use crate::support::crowd::await_idle_workers;
use crate::support::roll_call::on_every_worker;
use brigade::{Placement, Pool};
use brigade_testkit::{spin_for, test};

/// The CPUs that the calling thread may run on, according to the kernel.
fn allowed() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:"));
    line.expect("the kernel says it").to_owned()
}

/// Where code of a pool of four threads may run.
type Look = fn(&Pool) -> Vec<String>;
const LOOKS: [(&str, usize, Look); 4] = [
    ("each worker", 200, |pool| {
        pool.submit(|| ()).join().unwrap();
        on_every_worker(pool, allowed)
    }),
    // A hint for the wake could still be in force.
    ("the first job after a wake and its child", 200, |pool| {
        await_idle_workers(pool, 4);
        let woken = pool.submit(|| (allowed(), brigade::submit(allowed)));
        let (job, child) = woken.join().unwrap();
        vec![job, child.join().unwrap()]
    }),
    // A worker that goes on moves a peer that it has woken.
    ("jobs of a job that goes on", 100, |pool| {
        let job = || {
            spin_for(Duration::from_micros(20));
            allowed()
        };
        let jobs = pool.submit(move || [(); 16].map(|()| brigade::submit(job)));
        jobs.join().unwrap().into_iter().map(|job| job.join().unwrap()).collect()
    }),
    // They inherit the worker's affinity, from which a temporary one must not leak.
    ("threads started by jobs", 20, |pool| {
        on_every_worker(pool, || thread::spawn(allowed).join().unwrap())
    }),
];

#[test]
fn any_placement_allows_the_submitters_cpus() {
    let mine = allowed();
    for placement in [Placement::Spread, Placement::Kernel] {
        let pool = Pool::builder().threads(4).prestart(4).placement(placement).build().unwrap();
        for (code, rounds, look) in LOOKS {
            for round in 0..rounds {
                let seen = look(&pool);
                assert!(seen.iter().all(|seen| *seen == mine), "{code}, round {round}: {seen:?}");
            }
        }
    }
    assert_eq!(allowed(), mine, "nor is the submitter moved");
}

/// The second thread starts with the first job, usually on another CPU, and most often parks last. In its last look before it sleeps
/// it may find a job, which counts for little in 50 pools.
#[test]
fn a_used_worker_is_woken_before_an_unused() {
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
