//! No job waits while a worker is idle, wherever the job was submitted.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::attempts::in_one_of_three_attempts;
use crate::support::crowd::await_idle_workers;
use crate::support::policy::queue_kinds;
use brigade::{Handle, Pool};
use brigade_testkit::{Seed, Watchdog};

/// Jobs that each need all the others alive, and where they report that they met.
fn meeting(jobs: usize) -> (impl Fn() -> Box<dyn FnOnce() + Send>, Receiver<()>) {
    let (barrier, (met, meets)) = (Arc::new(Barrier::new(jobs)), mpsc::channel::<()>());
    let job = move || -> Box<dyn FnOnce() + Send> {
        let (barrier, met) = (Arc::clone(&barrier), met.clone());
        Box::new(move || {
            barrier.wait();
            met.send(()).unwrap();
        })
    };
    (job, meets)
}

#[track_caller]
fn assert_all_met(meets: &Receiver<()>, jobs: usize, kind: &str) {
    let limit = Instant::now() + Duration::from_secs(1);
    for met in 0..jobs {
        let left = limit.saturating_duration_since(Instant::now());
        assert!(meets.recv_timeout(left).is_ok(), "{met} of {jobs} met within 1 s, {kind}");
    }
}

#[test]
fn as_many_barrier_jobs_as_workers_meet_when_submitted_from_outside() {
    let _dog = Watchdog::start_alone(30);
    for threads in [2, 4] {
        for (kind, pool) in queue_kinds(threads) {
            for _ in 0..50 {
                let (job, meets) = meeting(threads);
                (0..threads).for_each(|_| pool.execute(job()));
                assert_all_met(&meets, threads, &kind);
            }
        }
    }
}

#[test]
fn as_many_barrier_jobs_as_workers_meet_when_submitted_from_one_worker() {
    let _dog = Watchdog::start_alone(30);
    for threads in [2, 4] {
        for (kind, pool) in queue_kinds(threads) {
            for _ in 0..50 {
                let (job, meets) = meeting(threads);
                pool.execute(move || (0..threads).for_each(|_| brigade::execute(job())));
                assert_all_met(&meets, threads, &kind);
            }
        }
    }
}

#[test]
fn a_worker_that_spawned_its_peers_may_meet_them_at_the_barrier() {
    let _dog = Watchdog::start_alone(30);
    for threads in [2, 4] {
        for (kind, pool) in queue_kinds(threads) {
            for _ in 0..50 {
                let (job, meets) = meeting(threads);
                pool.execute(move || {
                    (1..threads).for_each(|_| brigade::execute(job()));
                    job()();
                });
                assert_all_met(&meets, threads, &kind);
            }
        }
    }
}

#[test]
fn a_batch_of_barrier_jobs_wakes_enough_workers_for_all() {
    let _dog = Watchdog::start_alone(30);
    for (kind, pool) in queue_kinds(4) {
        for _ in 0..50 {
            let (job, meets) = meeting(4);
            pool.job().execute_batch((0..4).map(|_| job())).unwrap();
            assert_all_met(&meets, 4, &kind);
            let (job, meets) = meeting(4);
            pool.execute(move || {
                let here = Handle::current().unwrap();
                assert!(here.job().execute_batch((0..4).map(|_| job())).is_ok());
            });
            assert_all_met(&meets, 4, &kind);
        }
    }
}

/// The other worker is parked, and the parent blocks in a way brigade cannot see.
#[test]
fn a_child_runs_although_its_parent_blocks_on_a_channel_for_it() {
    let _dog = Watchdog::start_alone(30);
    for (kind, pool) in queue_kinds(2) {
        // Both threads there are started by two jobs that meet.
        let (job, meets) = meeting(2);
        (0..2).for_each(|_| pool.execute(job()));
        assert_all_met(&meets, 2, &kind);
        for _ in 0..50 {
            await_idle_workers(&pool, 2);
            let waited = pool.submit(|| {
                let begun = Instant::now();
                let (done, child): (Sender<()>, _) = mpsc::channel();
                brigade::execute(move || done.send(()).unwrap());
                child.recv().unwrap();
                begun.elapsed()
            });
            let waited = waited.join().unwrap();
            assert!(waited < Duration::from_secs(1), "{waited:?}, {kind}");
        }
    }
}

/// A lone child is not announced; the monitor must find it.
#[test]
fn a_lone_child_of_a_parent_that_makes_no_further_call_is_found_by_the_monitor() {
    let _dog = Watchdog::start_alone(60);
    let pause = RefCell::new(Seed::printed());
    for (kind, pool) in queue_kinds(2) {
        in_one_of_three_attempts(|| {
            let (median, longest) = median_and_longest(200, || {
                thread::sleep(pause.borrow_mut().micros(300));
                pool.submit(spin_until_child_ran).join().unwrap()
            });
            // On a machine that others use too, a plain wake may take as long as that.
            let limit = Duration::from_millis(2).max(2 * median_and_longest(50, plain_wake).0);
            let found = longest < Duration::from_millis(100) && median < limit;
            let times = format!("median {median:?} of {limit:?}, longest {longest:?}, {kind}");
            found.then_some(()).ok_or(times)
        });
    }
}

/// A worker monitors from the start, however long idle workers are told to spin before they sleep.
#[test]
fn a_lone_child_is_found_while_the_monitor_spins() {
    let _dog = Watchdog::start_alone(60);
    let patience = Duration::from_secs(20);
    let pool = Pool::builder().threads(2).idle(brigade::Idle::SpinThenPark(patience)).build();
    let pool = pool.unwrap();
    in_one_of_three_attempts(|| {
        let (median, longest) = median_and_longest(50, || {
            thread::sleep(Duration::from_micros(300));
            pool.submit(spin_until_child_ran).join().unwrap()
        });
        let found = longest < Duration::from_millis(500);
        found.then_some(()).ok_or(format!("median {median:?}, longest {longest:?}"))
    });
}

fn median_and_longest(rounds: usize, measure: impl Fn() -> Duration) -> (Duration, Duration) {
    let mut times: Vec<_> = (0..rounds).map(|_| measure()).collect();
    times.sort();
    (times[rounds / 2], times[rounds - 1])
}

/// How long the standard library takes to wake a thread while the one that woke it spins.
fn plain_wake() -> Duration {
    let (ran, (wake, woken)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let child = Arc::clone(&ran);
    let sleeper = thread::spawn(move || {
        woken.recv().unwrap();
        child.store(true, Ordering::Relaxed);
    });
    thread::sleep(Duration::from_micros(300));
    let begun = Instant::now();
    wake.send(()).unwrap();
    while !ran.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    let took = begun.elapsed();
    sleeper.join().unwrap();
    took
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
#[test]
fn lone_children_of_all_but_one_worker_are_found_by_the_one_that_is_left() {
    let _dog = Watchdog::start_alone(30);
    for (kind, pool) in queue_kinds(4) {
        for round in 0..30 {
            let parents: Vec<_> = (0..3).map(|_| pool.submit(spin_until_child_ran)).collect();
            for parent in parents {
                let waited = parent.join().unwrap();
                // Three spinning parents share two cores with the worker that is to help them.
                assert!(waited < Duration::from_secs(1), "{waited:?} in round {round}, {kind}");
            }
        }
    }
}

/// A job that blocked before the peers parked is still monitored: its child comes late.
#[test]
fn a_child_spawned_long_after_the_peers_parked_is_found() {
    let _dog = Watchdog::start_alone(30);
    for (kind, pool) in queue_kinds(2) {
        for _ in 0..10 {
            let waited = pool.submit(|| {
                thread::sleep(Duration::from_millis(20));
                spin_until_child_ran()
            });
            let waited = waited.join().unwrap();
            assert!(waited < Duration::from_millis(500), "{waited:?}, {kind}");
        }
    }
}

#[test]
fn two_workers_wait_for_each_others_children_without_calls_into_the_pool() {
    let _dog = Watchdog::start_alone(30);
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
