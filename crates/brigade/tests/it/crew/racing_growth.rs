//! A pool that ends while it grows: nothing hangs, and what was accepted has an outcome.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::for_both_queueings;
use crate::support::reports::counts;
use brigade::{Builder, Handle, JoinError, JoinHandle, Shutdown};
use brigade_testkit::{Seed, Watchdog, spin_for};

/// Submits jobs that block until the pool refuses; returns the accepted ones.
fn submit_until_closed(pool: Handle, ran: &Arc<AtomicUsize>) -> Vec<JoinHandle<()>> {
    let mut accepted = Vec::new();
    loop {
        let ran = Arc::clone(ran);
        let job = move || {
            brigade::blocking(|| spin_for(Duration::from_micros(20)));
            ran.fetch_add(1, Ordering::Relaxed);
        };
        match pool.try_submit(job) {
            Ok(job) => accepted.push(job),
            Err(_) => return accepted,
        }
        if accepted.len() % 8 == 0 {
            // So that the queue does not outgrow what the pool can drain.
            thread::yield_now();
        }
    }
}

/// The outcomes of accepted jobs; each must have one by now.
fn outcomes(jobs: Vec<JoinHandle<()>>) -> (u64, u64, u64) {
    let (mut ran, mut discarded) = (0, 0);
    for mut job in jobs {
        match job.try_join().expect("accepted, and the pool has ended: an outcome") {
            Ok(()) => ran += 1,
            Err(JoinError::Cancelled) => discarded += 1,
            Err(other) => unreachable!("nothing panics here: {other}"),
        }
    }
    (ran, discarded, 0)
}

fn race(builder: Builder, how: Shutdown, seed: &mut Seed) {
    let (pool, ran) = (builder.build().unwrap(), Arc::new(AtomicUsize::new(0)));
    let handle = pool.handle();
    let (jobs, report) = thread::scope(|scope| {
        let submitters = [(); 2].map(|()| scope.spawn(|| submit_until_closed(handle, &ran)));
        spin_for(seed.micros(300));
        let report = pool.shutdown(how);
        (submitters.map(|submitter| submitter.join().unwrap()), report)
    });
    assert_eq!(outcomes(jobs.into_iter().flatten().collect()), counts(report));
    assert_eq!(ran.load(Ordering::Relaxed) as u64, report.ran);
    assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
}

fn three_hundred_races(how: Shutdown) {
    let _dog = Watchdog::start(120);
    let (seed, round) = (RefCell::new(Seed::printed()), AtomicUsize::new(0));
    for _ in 0..150 {
        for_both_queueings(|builder| {
            let keep_alive = Duration::from_micros(seed.borrow_mut().below(3) * 40);
            let builder = builder.threads(1..=3).keep_alive(keep_alive);
            // Each second one has no thread to begin with, and keeps those that it gets.
            let builder = match round.fetch_add(1, Ordering::Relaxed) / 2 % 2 {
                0 => builder,
                _ => builder.threads(0..=3).keep_alive(Duration::from_secs(60)),
            };
            race(builder, how, &mut seed.borrow_mut());
        });
    }
}

#[test]
fn a_pool_that_drains_while_it_grows_runs_what_it_accepted() {
    three_hundred_races(Shutdown::Drain);
}

#[test]
fn a_pool_that_is_discarded_while_it_grows_has_an_outcome_for_what_it_accepted() {
    three_hundred_races(Shutdown::Discard);
}

/// Its last thread leaves at about the moment at which it is dropped.
#[test]
fn a_pool_dropped_while_its_threads_leave_ends() {
    let _dog = Watchdog::start(120);
    let seed = RefCell::new(Seed::printed());
    for _ in 0..300 {
        for_both_queueings(|builder| {
            let keep_alive = Duration::from_micros(30);
            let builder = builder.threads(1..=2).keep_alive(keep_alive).allow_core_timeout(true);
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

#[test]
fn a_resize_that_races_the_end_changes_nothing_about_it() {
    let _dog = Watchdog::start(120);
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
            let report = pool.shutdown(Shutdown::Drain);
            assert_eq!(counts(report), (20, 0, 0));
            assert_eq!(ran.load(Ordering::Relaxed), 20);
        });
    }
}
