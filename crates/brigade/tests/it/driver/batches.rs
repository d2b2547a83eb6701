//! Timers that are due together, or nearly: one wake-up for them, and one worker if they are short.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::attempts::in_one_of_three_attempts;
use brigade::Pool;
use brigade_testkit::{Meeting, Watchdog};

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

fn wakes(pool: &Pool) -> u64 {
    pool.metrics().workers.iter().map(|worker| worker.parks).sum()
}

#[test]
fn dense_timers_share_wake_ups() {
    let _dog = Watchdog::start(60);
    let pool = Pool::new(1);
    let before = wakes(&pool);
    run_at(&pool, (0..2000).map(|number| Duration::from_micros(50) * number));
    // 112 where each wake-up is on time; a busy machine has fewer.
    let parked = wakes(&pool) - before;
    assert!(parked < 300, "{parked} for 2,000 timers in 100 ms");
}

#[test]
fn a_worker_that_keeps_up_with_its_timers_wakes_no_other_for_each_of_their_batches() {
    let _dog = Watchdog::start_alone(60);
    in_one_of_three_attempts(|| {
        let pool = Pool::new(2);
        let before = wakes(&pool);
        run_at(&pool, (0..1000).map(|number| Duration::from_micros(950) * (number / 5)));
        // Some 200 of the one, which wakes for each batch, and as many looks of the other are none.
        let parked = wakes(&pool) - before;
        let most = 300;
        if parked < most { Ok(()) } else { Err(format!("{parked} for 200 batches")) }
    });
}

#[test]
fn jobs_that_are_due_with_a_long_one_are_run_beside_it() {
    let _dog = Watchdog::start(120);
    let pool = Pool::new(2);
    for round in 0..30 {
        // The worker that will wake for the two that meet has kept up with these by then.
        run_at(&pool, (0..30).map(|number| Duration::from_micros(300) * (number / 3)));
        let due = Instant::now() + Duration::from_micros(500);
        let (meeting, (met, meets)) = (Meeting::of(2), mpsc::channel());
        for _ in 0..2 {
            let (job, met) = (meeting.job(), met.clone());
            drop(pool.job().at(due).execute(move || met.send(job()).unwrap()).unwrap());
        }
        assert!(meets.iter().take(2).all(|met| met), "round {round}: one waits for the other");
    }
}
