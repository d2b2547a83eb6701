//! Timers fire on time: never early, and soon after their deadline on an idle pool.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::support::busy::held;
use crate::support::full::at_rest;
use crate::support::in_time::{delays, waited};
use crate::support::policy::for_every_row;
use brigade::time::{sleep, sleep_until};
use brigade::{Handle, Pool, block_on};
use brigade_testkit::{Gate, Seed, spin_for, test};

/// Far longer than anything here may take, and no test's limit.
const FAR: Duration = Duration::from_secs(3600);

/// How long an event with a wake may take; without one it takes [`FAR`].
const LONG: Duration = Duration::from_secs(10);

/// When a closure of the pool ran that was due then.
fn ran_at(pool: Handle, deadline: Instant) -> Receiver<Instant> {
    let (ran, runs) = mpsc::channel();
    let _detached = pool.job().at(deadline).execute(move || _ = ran.send(Instant::now())).unwrap();
    runs
}

#[test]
fn no_sleep_of_a_thread_outside_comes_early() {
    let mut seed = Seed::printed();
    for _ in 0..200 {
        let end = Instant::now() + seed.micros(2000);
        block_on(sleep_until(end));
        assert!(Instant::now() >= end);
    }
}

#[test(alone, threads in [1, 2])]
fn closures_and_sleeps_are_under_a_millisecond_late(threads: usize) {
    let limit = Duration::from_millis(1);
    let pool = Pool::new(threads);
    let soon = || (waited(), Instant::now() + Duration::from_millis(2));
    let closures = delays(50, || {
        let (before, end) = soon();
        (ran_at(pool.handle(), end).recv().unwrap() - end, before)
    });
    let sleeps = delays(50, || {
        let (before, end) = soon();
        let woken = pool.spawn(async move {
            sleep_until(end).await;
            Instant::now() - end
        });
        (woken.join().unwrap(), before)
    });
    // Two of three: the host of a virtual machine may take its CPUs at times.
    let are_soon = closures[33] < limit && sleeps[33] < limit;
    assert!(are_soon, "{closures:?}, {sleeps:?}");
}

#[test(threads in [1, 2, 4])]
fn a_timer_before_the_parked_one_is_not_missed(threads: usize) {
    let pool = Pool::new(threads);
    let _far = pool.job().after(FAR).execute(|| unreachable!()).unwrap();
    drop(pool.spawn(sleep(FAR)));
    for round in 0..50 {
        // A worker is parked for the first one by now, or is about to park.
        spin_for(Duration::from_micros(round * 10));
        let end = Instant::now() + Duration::from_micros(500);
        let ran = ran_at(pool.handle(), end).recv_timeout(LONG);
        assert!(ran.is_ok(), "round {round}");
        let mut woken = pool.spawn(sleep(Duration::from_micros(500)));
        assert!(woken.join_timeout(LONG).is_some(), "round {round}");
    }
}

#[test(120)]
fn timers_fire_in_any_order_and_configuration() {
    let seed = Seed::printed();
    for_every_row(|pool| {
        let mut seed = seed.fork(*pool.size().end() as u64);
        let (fired, fires) = mpsc::channel();
        for _ in 0..20 {
            let (asked, duration) = (Instant::now(), seed.micros(1000));
            let tell = |fired: mpsc::Sender<bool>| {
                move || fired.send(asked.elapsed() >= duration).unwrap()
            };
            let closure = tell(fired.clone());
            let _detached = pool.job().after(duration).execute(closure).unwrap();
            let woken = tell(fired.clone());
            drop(pool.spawn(async move {
                sleep(duration).await;
                woken();
            }));
        }
        drop(fired);
        let fires: Vec<_> = fires.iter().collect();
        assert_eq!(fires, [true; 40], "none is early");
    });
}

/// The idle worker polls the timers, and still runs jobs.
#[test(threads in [2, 4])]
fn timers_fire_with_one_free_worker(threads: usize) {
    let (pool, gate) = (Pool::new(threads), Gate::closed());
    (1..threads).for_each(|_| drop(held(&pool, &gate)));
    for _ in 0..50 {
        let end = Instant::now() + Duration::from_micros(300);
        assert!(ran_at(pool.handle(), end).recv_timeout(LONG).is_ok());
        let mut woken = pool.spawn(sleep(Duration::from_micros(300)));
        assert!(woken.join_timeout(LONG).is_some());
        assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    }
    gate.open();
}

/// The thread that set it continues for a long time: another must fire it.
#[test(threads in [2, 4])]
fn a_jobs_timer_fires_while_it_runs(threads: usize) {
    let pool = Pool::new(threads);
    for _ in 0..50 {
        let here = pool.handle();
        let job = pool.submit(move || {
            let runs = ran_at(here, Instant::now() + Duration::from_micros(200));
            runs.recv_timeout(LONG).is_ok()
        });
        assert!(job.join().unwrap());
    }
}

/// Jobs that never end must not delay timers.
#[test]
fn timers_fire_on_an_always_busy_worker() {
    fn again(until: Instant) {
        if Instant::now() < until {
            brigade::execute(move || again(until));
        }
    }
    let pool = Pool::new(1);
    let begun = Instant::now();
    pool.execute(move || again(begun + LONG / 5));
    let ran = ran_at(pool.handle(), begun + Duration::from_millis(5)).recv().unwrap();
    assert!(ran < begun + LONG / 10, "after {:?}", ran - begun);
}

#[test(120)]
fn all_of_100_000_sleeps_end() {
    const SLEEPS: u64 = 100_000;
    let (pool, mut seed) = (Pool::new(2), Seed::printed());
    let begun = Instant::now();
    let sleeps: Vec<_> = (0..SLEEPS)
        .map(|_| {
            let end = begun + seed.micros(50_000);
            pool.spawn(async move {
                sleep_until(end).await;
                assert!(Instant::now() >= end);
            })
        })
        .collect();
    sleeps.into_iter().for_each(|sleep| sleep.join().unwrap());
    assert_eq!(at_rest(&pool), [SLEEPS, SLEEPS, 0, 0, 0]);
}
