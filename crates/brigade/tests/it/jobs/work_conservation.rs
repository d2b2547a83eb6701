//! No job waits while a worker is idle, wherever the job was submitted.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crate::support::crowd::await_idle_workers;
use crate::support::in_time::{delays, waited};
use crate::support::policy::queue_kinds;
use brigade::{Handle, Pool, Queueing};
use brigade_testkit::{Seed, eventually, spin_for, test};

/// How long a wait may take that ends by a wake; a job that is left alone waits forever, or until a worker spins no longer.
const LIMIT: Duration = Duration::from_secs(10);

/// Jobs that each need all the others alive, and where they report that they met.
fn meeting(jobs: usize) -> (impl Fn() -> Job + Send, Receiver<()>) {
    let (barrier, (met, meets)) = (Arc::new(Barrier::new(jobs)), mpsc::channel::<()>());
    let job = move || -> Job {
        let (barrier, met) = (Arc::clone(&barrier), met.clone());
        Box::new(move || {
            barrier.wait();
            met.send(()).unwrap();
        })
    };
    (job, meets)
}

#[track_caller]
fn assert_all_met(meets: &Receiver<()>, jobs: usize) {
    let limit = Instant::now() + LIMIT;
    for met in 0..jobs {
        let left = limit.saturating_duration_since(Instant::now());
        assert!(meets.recv_timeout(left).is_ok(), "{met} of {jobs} met");
    }
}

/// Starts both threads of a pool, by two jobs that meet.
fn start_both(pool: &Pool) {
    let (job, meets) = meeting(2);
    (0..2).for_each(|_| pool.execute(job()));
    assert_all_met(&meets, 2);
}

type Job = Box<dyn FnOnce() + Send>;

/// How as many jobs are submitted as there are workers.
type Way = fn(&Pool, usize, Box<dyn Fn() -> Job + Send>);

const WAYS: [(&str, Way); 5] = [
    ("from outside", |pool, threads, job| (0..threads).for_each(|_| pool.execute(job()))),
    ("a batch from outside", |pool, threads, job| {
        pool.job().execute_batch((0..threads).map(|_| job())).unwrap();
    }),
    ("by a job", |pool, threads, job| {
        pool.execute(move || (0..threads).for_each(|_| brigade::execute(job())));
    }),
    ("a batch by a job", |pool, threads, job| {
        pool.execute(move || {
            let here = Handle::current().unwrap();
            here.job().execute_batch((0..threads).map(|_| job())).unwrap();
        });
    }),
    ("by one of them", |pool, threads, job| {
        pool.execute(move || {
            (1..threads).for_each(|_| brigade::execute(job()));
            job()();
        });
    }),
];

/// Pools of a fixed size, and one that grows and shrinks all the time.
fn pools() -> Vec<(String, Pool)> {
    let elastic = [Queueing::Stealing, Queueing::Shared].map(|queueing| {
        let builder = Pool::builder().threads(1..=3).keep_alive(Duration::ZERO);
        (format!("1 to 3 {queueing:?}"), builder.queueing(queueing).build().unwrap())
    });
    queue_kinds(2).into_iter().chain(queue_kinds(4)).chain(elastic).collect()
}

/// S14: `executors` ran four children of one job on two of four workers.
///
/// All at once: a thread that is about to look for work counts for one job only, where a pool grows.
#[test(120, (way, submit) in WAYS, (kind, pool) in pools())]
fn as_many_jobs_run_as_there_are_workers(pool: Pool, submit: Way) {
    let (core, threads) = pool.size().into_inner();
    for _ in 0..100 {
        if core < threads {
            await_idle_workers(&pool, core);
        }
        let (job, meets) = meeting(threads);
        submit(&pool, threads, Box::new(job));
        assert_all_met(&meets, threads);
    }
}

/// The other worker is parked, and the parent blocks in a way brigade cannot see.
#[test(alone, (kind, pool) in queue_kinds(2))]
fn a_child_runs_beside_its_blocked_parent(pool: Pool) {
    start_both(&pool);
    let waits = delays(50, || {
        await_idle_workers(&pool, 2);
        let before = waited();
        let parent = pool.submit(|| {
            let begun = Instant::now();
            let (done, child): (Sender<()>, _) = mpsc::channel();
            brigade::execute(move || done.send(()).unwrap());
            child.recv().unwrap();
            begun.elapsed()
        });
        (parent.join().unwrap(), before)
    });
    assert!(waits[49] < Duration::from_secs(1), "{waits:?}");
}

/// A lone child is not announced; the monitor must find it.
#[test(alone, (kind, pool) in queue_kinds(2))]
fn the_monitor_finds_a_silent_parents_lone_child(pool: Pool) {
    let mut seed = Seed::printed();
    start_both(&pool);
    let waits = delays(200, || {
        await_idle_workers(&pool, 2);
        spin_for(seed.micros(300));
        let before = waited();
        (pool.submit(spin_until_child_ran).join().unwrap(), before)
    });
    let (median, longest) = (waits[100], waits[199]);
    let is_found = longest < Duration::from_millis(100) && median < Duration::from_millis(2);
    assert!(is_found, "median {median:?}, longest {longest:?}");
}

/// A worker monitors from the start, however long idle workers are told to spin before they park.
#[test(alone)]
fn a_spinning_monitor_finds_a_lone_child() {
    let idle = brigade::Idle::SpinThenPark(LIMIT * 2);
    let pool = Pool::builder().threads(2).idle(idle).build().unwrap();
    let waits = delays(50, || {
        let before = waited();
        (pool.submit(spin_until_child_ran).join().unwrap(), before)
    });
    assert!(waits[49] < Duration::from_millis(500), "{waits:?}");
}

fn spin_until_child_ran() -> Duration {
    let (ran, begun) = (Arc::new(AtomicBool::new(false)), Instant::now());
    let child = Arc::clone(&ran);
    brigade::execute(move || child.store(true, Ordering::Relaxed));
    while !ran.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    begun.elapsed()
}

/// A second parent on the other worker must not end the monitoring of the first.
#[test(alone, (kind, pool) in queue_kinds(4))]
fn the_last_free_worker_finds_lone_children(pool: Pool) {
    // Three spinning parents share the CPUs with the worker that is to help them.
    let waits = delays(30, || {
        let before = waited();
        let parents: Vec<_> = (0..3).map(|_| pool.submit(spin_until_child_ran)).collect();
        (parents.into_iter().map(|parent| parent.join().unwrap()).max().unwrap(), before)
    });
    assert!(waits[29] < Duration::from_secs(1), "{waits:?}");
}

/// A job that blocked before the peers parked is still monitored: its child comes late.
#[test(alone, (kind, pool) in queue_kinds(2))]
fn a_late_child_is_found_by_parked_peers(pool: Pool) {
    start_both(&pool);
    let waits = delays(10, || {
        let parent = pool.submit(|| {
            let here = Handle::current().unwrap();
            let parked = Cell::new(Instant::now());
            eventually("the other worker stays parked", || {
                if here.metrics().idle_threads != 1 {
                    parked.set(Instant::now());
                }
                parked.get().elapsed() > Duration::from_millis(10)
            });
            let before = waited();
            (spin_until_child_ran(), before)
        });
        parent.join().unwrap()
    });
    assert!(waits[9] < Duration::from_millis(500), "{waits:?}");
}

#[test]
fn two_workers_await_each_others_children() {
    let pool = Pool::new(2);
    for _ in 0..200 {
        let parent = pool.submit(|| {
            let (done, child) = mpsc::channel();
            let pool = Handle::current().unwrap();
            pool.execute(move || {
                let (done_too, grandchild) = mpsc::channel();
                pool.execute(move || done_too.send(()).unwrap());
                // It must end before the test waits for the grandchild: one of two workers must be
                // free.
                done.send(grandchild).unwrap();
            });
            child.recv().unwrap().recv().unwrap();
        });
        parent.join().unwrap();
    }
}
