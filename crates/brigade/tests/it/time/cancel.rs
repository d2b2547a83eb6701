//! Cancelling closures that run at a time, and the drop of their captures.

use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Instant;

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;
use crate::support::full::at_rest;
use crate::time::schedule::{FAR, SOON, gate_job, tick_once};
use brigade::{Builder, Missed, Pool, Queueing, Timer};
use brigade_testkit::{Drops, Gate, OnDrop, eventually, spin_for, test};

#[test(for_both_queueings)]
fn a_cancelled_closure_drops_its_captures_at_once(builder: Builder) {
    let (pool, drops) = (builder.threads(2).build().unwrap(), Drops::default());
    let (token, also) = (drops.token(), drops.token());
    let once = pool
        .job()
        .after(SOON * 20)
        .execute(move || unreachable!("{}", size_of_val(&token)))
        .unwrap();
    let every = pool.job().every(FAR).missed(Missed::Skip).execute(move || _ = &also).unwrap();
    assert!(once.cancel());
    assert_eq!((drops.count(), once.is_over(), every.is_over()), (1, true, false));
    assert!(every.cancel());
    assert_eq!((drops.count(), every.is_over()), (2, true));
    assert!(!once.cancel() && !every.cancel(), "there is nothing left to cancel");
    // A closure that is due later.
    let later = pool.job().after(SOON * 25).execute(|| ()).unwrap();
    eventually("the later one has run", || later.is_over());
    assert_eq!((once.ticks(), every.ticks()), (0, 0));
    assert_eq!(at_rest(&pool), [1, 1, 0, 0, 0], "a closure that is not due is no job");
}

/// Due, and behind one that blocks the only worker.
#[test]
fn cancelled_queued_closures_do_not_accumulate() {
    const CLOSURES: u64 = 1000;
    let pool = Pool::builder().threads(1).queueing(Queueing::Shared).build().unwrap();
    let (first, gate) = (Gate::closed(), Gate::closed());
    occupy(&pool, &first);
    let due = Instant::now();
    let blocks = pool.job().at(due).execute(gate_job(&gate)).unwrap();
    let never = |_| pool.job().at(due).execute(|| unreachable!()).unwrap();
    let queued: Vec<Timer> = (0..CLOSURES).map(never).collect();
    first.open();
    eventually("they are queued", || pool.metrics().queued == CLOSURES);
    assert!(queued.iter().all(Timer::cancel));
    let left = pool.metrics().queued;
    assert!(left <= 128, "{left} entries");
    gate.open();
    eventually("the first has run", || blocks.is_over());
    assert_eq!(at_rest(&pool), [CLOSURES + 2, 2, 0, CLOSURES, 0]);
}

#[test]
fn a_dropped_timer_cancels_nothing() {
    let (pool, (ran, runs)) = (Pool::new(1), mpsc::channel());
    drop(pool.job().after(SOON).execute(tick_once(&ran)).unwrap());
    std::mem::forget(pool.job().after(SOON).execute(tick_once(&ran)).unwrap());
    assert_eq!(runs.iter().take(2).count(), 2);
}

#[test]
fn a_tick_may_cancel_its_own_schedule() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let (place, token) = (Arc::new(OnceLock::<Timer>::new()), drops.token());
    let own = place.clone();
    let (told, tells) = mpsc::channel();
    let timer = pool
        .job()
        .every(SOON)
        .missed(Missed::Burst)
        .execute(move || {
            let _ = &token;
            eventually("the handle is there", || own.get().is_some());
            let timer = own.get().unwrap();
            told.send((timer.cancel(), timer.cancel(), timer.is_over())).unwrap();
        })
        .unwrap();
    place.set(timer).unwrap();
    assert!(tells.iter().eq([(true, false, false)]), "once, and then it is dropped");
    eventually("it is over", || place.get().unwrap().is_over());
    assert_eq!((drops.count(), place.get().unwrap().ticks()), (1, 1));
}

#[test]
fn a_captures_drop_may_cancel_and_schedule() {
    let (pool, dropped) = (Pool::new(2), Arc::<Mutex<u32>>::default());
    // Calls everything there is, and drops a schedule of its own.
    let meddler = || {
        let place = Arc::new(OnceLock::<Timer>::new());
        let (own, handle, dropped) = (place.clone(), pool.handle(), dropped.clone());
        let meddler = OnDrop(move || {
            if let Some(timer) = own.get() {
                assert!(!timer.cancel() && timer.last_error().is_none() && !timer.is_over());
            }
            if let Ok(another) = handle.job().after(FAR).execute(|| ()) {
                assert!(another.cancel());
            }
            *dropped.lock().unwrap() += 1;
        });
        (meddler, place)
    };
    let (cancelled, place) = meddler();
    let _ = place.set(pool.job().after(FAR).execute(move || drop(cancelled)).unwrap());
    assert!(place.get().unwrap().cancel());
    let (every, place) = meddler();
    let _ =
        place.set(pool.job().every(FAR).missed(Missed::Skip).execute(move || _ = &every).unwrap());
    assert!(place.get().unwrap().cancel());
    assert_eq!(*dropped.lock().unwrap(), 2);
    // And where the pool is closed, and drops them.
    let (left, place) = meddler();
    let _ = place.set(pool.job().after(FAR).execute(move || drop(left)).unwrap());
    pool.close();
    assert_eq!(*dropped.lock().unwrap(), 3);
    assert!(place.get().unwrap().is_over());
}

/// Fifty at once, each cancelled at some moment of its life by another thread.
#[test]
fn a_cancel_beside_a_tick_has_two_outcomes() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let mut seed = brigade_testkit::Seed::printed();
    for round in 0..500 {
        let (token, delay) = (drops.token(), seed.micros(100));
        let timer = pool.job().after(delay).execute(move || drop(token)).unwrap();
        spin_for(seed.micros(200));
        let cancelled = timer.cancel();
        eventually("it is over", || timer.is_over());
        assert_eq!(timer.ticks(), u64::from(!cancelled));
        assert_eq!(drops.count(), round + 1);
    }
    let sums = at_rest(&pool);
    assert_eq!((sums[1] + sums[3], sums[2]), (sums[0], 0));
}

#[test]
fn a_cancel_beside_ticks_always_ends_them() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let mut seed = brigade_testkit::Seed::printed();
    for round in 0..5000 {
        let (token, period) = (drops.token(), seed.micros(20) + SOON / 1000);
        let timer =
            pool.job().every(period).missed(Missed::Burst).execute(move || _ = &token).unwrap();
        spin_for(seed.micros(200));
        assert!(timer.cancel() && !timer.cancel(), "round {round}");
        eventually("it is over", || timer.is_over());
        assert_eq!(drops.count(), round + 1);
    }
}
