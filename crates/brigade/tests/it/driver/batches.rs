//! Timers that are due together, or nearly: one wake-up for them, and one worker if they are short.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::in_time::{delays, waited};
use brigade::Pool;
use brigade_testkit::{Meeting, spin_for, test};

/// Runs a closure for each of some timers, the first of which is due in 20 ms, and waits for all. Returns how many were late.
fn run_at(pool: &Pool, offsets: impl Iterator<Item = Duration>) -> u64 {
    let first = Instant::now() + Duration::from_millis(20);
    let (ran, runs) = mpsc::channel();
    let mut count = 0;
    for offset in offsets {
        let ran = ran.clone();
        let due = first + offset;
        let run = move || ran.send(due.elapsed() > Duration::from_millis(1)).unwrap();
        drop(pool.job().at(due).execute(run).unwrap());
        count += 1;
    }
    runs.iter().take(count).map(u64::from).sum()
}

fn parks(pool: &Pool) -> u64 {
    pool.metrics().workers.iter().map(|worker| worker.parks).sum()
}

#[test]
fn dense_timers_share_wake_ups() {
    let pool = Pool::new(1);
    let before = parks(&pool);
    run_at(&pool, (0..2000).map(|number| Duration::from_micros(50) * number));
    // 112 where each wake-up is on time; a busy machine has fewer.
    let parked = parks(&pool) - before;
    assert!(parked < 300, "{parked} for 2,000 timers in 100 ms");
}

/// A worker that is late may get help: a batch that begins later than the timers' granularity may wake another worker.
#[test(alone)]
fn a_punctual_worker_wakes_no_peer_per_batch() {
    const BATCHES: u32 = 200;
    // The second period is a little longer than the granularity of timers.
    for period in [950, 1100].map(Duration::from_micros) {
        let pool = Pool::new(2);
        let before = parks(&pool);
        let late = run_at(&pool, (0..5 * BATCHES).map(|number| period * (number / 5)));
        // One park for each batch. Another worker that is woken beside the first parks as often.
        let (parked, late) = (parks(&pool) - before, late / 5);
        let most = u64::from(BATCHES) * 3 / 2 + 2 * late;
        assert!(parked < most, "{parked} parks for {BATCHES} batches, of which {late} were late");
    }
}

/// When the next two timers are due.
fn soon() -> Instant {
    Instant::now() + Duration::from_millis(5)
}

#[test(120)]
fn jobs_due_with_a_long_job_run_beside_it() {
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

#[test(alone)]
fn a_job_due_with_a_long_job_waits_for_the_monitor() {
    const ROUNDS: usize = 40;
    let pool = Pool::new(2);
    let waits = delays(ROUNDS, || wait_beside_a_long_job(&pool));
    // Two looks, and a wake-up.
    let (soonest, most) = (waits[0], waits[ROUNDS * 3 / 4]);
    let is_soon = soonest <= Duration::from_micros(2400) && most <= Duration::from_millis(8);
    assert!(is_soon, "{soonest:?}, most within {most:?}: {waits:?}");
}

/// How long after the first of two jobs that are due at once the second begins, if the first takes 10 ms; and what the threads had
/// waited before.
fn wait_beside_a_long_job(pool: &Pool) -> (Duration, Duration) {
    let before = waited();
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
    (second.saturating_duration_since(first), before)
}
