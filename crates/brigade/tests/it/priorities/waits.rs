//! How long the lower classes wait beside jobs of others that never end. Counted in jobs: a time would say more of the machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::sends;
use crate::support::busy::occupy;
use crate::support::policy::queue_kinds;
use brigade::{Order, Pool, Priority, Queueing, current_priority};
use brigade_testkit::{Gate, test};

/// A job that submits itself again until the gate is open, with its class; calls `step` each time.
pub(super) fn go_on(stop: &Gate, step: impl Fn() + Clone + Send + 'static) {
    step();
    if !stop.is_open() {
        let stop = stop.clone();
        let _ = brigade::try_execute(move || go_on(&stop, step));
    }
}

#[test((kind, pool) in queue_kinds(1))]
fn one_job_in_17_runs_beside_endless_high_jobs(pool: Pool) {
    let (gate, stop, high) = (Gate::closed(), Gate::closed(), Arc::new(AtomicU64::new(0)));
    occupy(&pool, &gate);
    let (ran, runs) = mpsc::channel();
    for _ in 0..50 {
        let (ran, high) = (ran.clone(), high.clone());
        pool.execute(move || ran.send(high.load(Ordering::Relaxed)).unwrap());
    }
    for _ in 0..2 {
        let (stop, high) = (stop.clone(), high.clone());
        let step = move || {
            assert_eq!(current_priority(), Priority::High);
            high.fetch_add(1, Ordering::Relaxed);
        };
        pool.job().priority(Priority::High).execute(move || go_on(&stop, step)).unwrap();
    }
    drop(ran);
    gate.open();
    let waits: Vec<_> = runs.iter().take(50).collect();
    // Before the claim: a pool with a chain that goes on does not end.
    stop.open();
    assert!(pool.wait_idle());
    for (number, before) in (1..).zip(waits) {
        assert!(before <= 16 * number, "{before} high jobs before number {number}");
    }
    assert!(high.load(Ordering::Relaxed) > 0);
}

/// How long a low job gives way.
const AGEING: Duration = Duration::from_millis(100);

/// What low jobs saw: how many others had run since the last of them was due by its age.
fn low_jobs_beside(pool: &Pool, others: &[Priority], low: u64) -> Vec<u64> {
    let (gate, stop, late) = (Gate::closed(), Gate::closed(), Arc::new(AtomicU64::new(0)));
    occupy(pool, &gate);
    let (ran, runs) = mpsc::channel();
    for _ in 0..low {
        let late = late.clone();
        let tell = sends(&ran, move || late.load(Ordering::Relaxed));
        pool.job().priority(Priority::Low).execute(tell).unwrap();
    }
    let aged = Instant::now() + AGEING;
    for &class in others {
        let (stop, late) = (stop.clone(), late.clone());
        let step = move || {
            if Instant::now() >= aged {
                late.fetch_add(1, Ordering::Relaxed);
            }
        };
        pool.job().priority(class).execute(move || go_on(&stop, step)).unwrap();
    }
    gate.open();
    let waits = runs.iter().take(low as usize).collect();
    stop.open();
    assert!(pool.wait_idle());
    waits
}

/// The bound of `Priority`, exactly: 62 jobs for each low job and those before it, once it is old enough.
#[test(120)]
fn a_low_job_waits_its_age_and_62_jobs() {
    let normal = [Priority::Normal; 2].as_slice();
    let both = [Priority::Normal, Priority::High, Priority::High].as_slice();
    for interval in [61u32, 5] {
        for queueing in [Queueing::Stealing, Queueing::Shared] {
            for others in [normal, both] {
                let pool = Pool::builder().threads(1).fairness(interval);
                let pool = pool.queueing(queueing).build().unwrap();
                let waits = low_jobs_beside(&pool, others, 5);
                for (number, before) in (1..).zip(&waits) {
                    // In a look the worker also runs one job that it has found, and 16 high ones after this and the low one.
                    let turns = if others == both { interval.max(33) } else { interval };
                    let bound = u64::from(turns + 1) * number;
                    let what = format!("{interval}, {queueing:?}, {others:?}");
                    assert!(*before <= bound, "{waits:?} jobs, {what}");
                }
            }
        }
    }
}

#[test]
fn a_lifo_low_job_waits_for_twice_as_many() {
    let pool = Pool::builder().threads(1).order(Order::Lifo).build().unwrap();
    let waits = low_jobs_beside(&pool, &[Priority::Normal; 2], 5);
    for (number, before) in (1..).zip(&waits) {
        // In a look the worker runs up to as many jobs from outside, and one of its own.
        assert!(*before <= 2 * 62 * number, "{waits:?} jobs");
    }
}

#[test(class in [Priority::Normal, Priority::High])]
fn until_it_is_old_a_low_job_gives_way(class: Priority) {
    let (pool, gate, stop) = (Pool::new(1), Gate::closed(), Gate::closed());
    occupy(&pool, &gate);
    let (ran, runs) = mpsc::channel();
    let submitted = Instant::now();
    let low = pool.job().priority(Priority::Low);
    low.execute(move || ran.send(submitted.elapsed()).unwrap()).unwrap();
    let until = stop.clone();
    pool.job().priority(class).execute(move || go_on(&until, || ())).unwrap();
    gate.open();
    let waited = runs.recv();
    // Before the claim: a pool with a chain that goes on does not end.
    stop.open();
    assert!(waited.unwrap() >= AGEING);
}

/// Each of four workers has jobs of two classes that never end.
#[test(120, (kind, pool) in queue_kinds(4))]
fn low_jobs_run_beside_busy_workers(pool: Pool) {
    let stop = Gate::closed();
    for class in [Priority::Normal, Priority::High] {
        for _ in 0..8 {
            let stop = stop.clone();
            pool.job().priority(class).execute(move || go_on(&stop, || ())).unwrap();
        }
    }
    let (ran, runs) = mpsc::channel();
    for _ in 0..10 {
        pool.job().priority(Priority::Low).execute(sends(&ran, || ())).unwrap();
    }
    let ran = runs.iter().take(10).count();
    stop.open();
    assert_eq!(ran, 10);
}
