//! Timers that are due together, or nearly: one wake-up for them, and one worker if they are short.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::attempts::in_one_of_three_attempts;
use brigade::Pool;
use brigade_testkit::{Meeting, Watchdog, spin_for};

/// Runs a closure for each of some timers, the first of which is due in 20 ms, and waits for all.
fn run_at(pool: &Pool, offsets: impl Iterator<Item = Duration>) {
    let first = Instant::now() + Duration::from_millis(20);
    let (ran, runs) = mpsc::channel();
    let mut count = 0;
    for offset in offsets {
        let ran = ran.clone();
        drop(pool.job().at(first + offset).execute(move || ran.send(()).unwrap()).unwrap());
        count += 1;
    }
    assert_eq!(runs.iter().take(count).count(), count);
}

fn parks(pool: &Pool) -> u64 {
    pool.metrics().workers.iter().map(|worker| worker.parks).sum()
}

#[test]
fn dense_timers_share_wake_ups() {
    let _dog = Watchdog::start(60);
    let pool = Pool::new(1);
    let before = parks(&pool);
    run_at(&pool, (0..2000).map(|number| Duration::from_micros(50) * number));
    // 112 where each wake-up is on time; a busy machine has fewer.
    let parked = parks(&pool) - before;
    assert!(parked < 300, "{parked} for 2,000 timers in 100 ms");
}

#[test]
fn a_worker_that_keeps_up_with_its_timers_wakes_no_other_for_each_of_their_batches() {
    let _dog = Watchdog::start_alone(60);
    // The second period is a little longer than the granularity of timers.
    for period in [950, 1100].map(Duration::from_micros) {
        in_one_of_three_attempts(|| {
            let pool = Pool::new(2);
            let before = parks(&pool);
            run_at(&pool, (0..1000).map(|number| period * (number / 5)));
            // 200 of the worker that wakes for each batch, and some more on a busy machine. Another one that is woken beside it parks as often.
            let parked = parks(&pool) - before;
            let most = 340;
            if parked < most { Ok(()) } else { Err(format!("{parked} for 200 batches")) }
        });
    }
}

/// When the next two timers are due.
fn soon() -> Instant {
    Instant::now() + Duration::from_millis(5)
}

#[test]
fn jobs_that_are_due_with_a_long_one_are_run_beside_it() {
    let _dog = Watchdog::start(120);
    let pool = Pool::new(2);
    for round in 0..30 {
        let (due, meeting, (met, meets)) = (soon(), Meeting::of(2), mpsc::channel());
        for _ in 0..2 {
            let (job, met) = (meeting.job(), met.clone());
            drop(pool.job().at(due).execute(move || met.send(job()).unwrap()).unwrap());
        }
        assert!(meets.iter().take(2).all(|met| met), "round {round}: one waits for the other");
    }
}

#[test]
fn a_job_that_is_due_with_a_long_one_waits_for_the_monitor_at_most() {
    const ROUNDS: usize = 40;
    let _dog = Watchdog::start_alone(120);
    in_one_of_three_attempts(|| {
        let pool = Pool::new(2);
        let mut waits: Vec<_> = (0..ROUNDS).map(|_| wait_beside_a_long_job(&pool)).collect();
        waits.sort();
        // Two looks, and a wake-up. If the system runs both workers on one CPU, a time slice comes on top; so it may do each time beside
        // another program.
        let (soonest, most) = (waits[0], waits[ROUNDS * 3 / 4]);
        let is_soon = soonest <= Duration::from_micros(2400) && most <= Duration::from_millis(8);
        if is_soon { Ok(()) } else { Err(format!("{soonest:?}, most within {most:?}: {waits:?}")) }
    });
}

/// How long after the first of two jobs that are due at once the second begins, if the first takes 10 ms.
fn wait_beside_a_long_job(pool: &Pool) -> Duration {
    let (due, (begun, begins)) = (soon(), mpsc::channel());
    for _ in 0..2 {
        let begun = begun.clone();
        let job = move || {
            begun.send(Instant::now()).unwrap();
            spin_for(Duration::from_millis(10));
        };
        drop(pool.job().at(due).execute(job).unwrap());
    }
    let [first, second] = [begins.recv().unwrap(), begins.recv().unwrap()];
    pool.wait_idle();
    second.saturating_duration_since(first)
}
