//! A program whose jobs wait, at random places, for futures that nothing wakes: only the end of their pool ends these waits.

use std::future::pending;
use std::sync::Arc;

use brigade::{Handle, NewThread, Shutdown, TaskSet, block_on};
use fastrand::Rng;

use crate::meeting::{build, pause};

/// Runs the program of a seed.
pub(crate) fn run(random: &mut Rng) {
    let threads = random.usize(1..4);
    let pool = build(random, threads);
    let counted = Arc::new(());
    for _ in 0..random.u8(1..4) {
        let (handle, random, counted) = (pool.handle(), random.fork(), counted.clone());
        // The end of the pool may come before the job, which it drops or runs.
        assert!(pool.try_execute(move || place(handle, random, counted, 3)).is_ok());
    }
    let (handle, own, counts) = (pool.handle(), random.fork(), counted.clone());
    let main = move || wait(handle, own, counts);
    let other = NewThread::new("outside".into(), None, main).start().expect("a thread");
    pause(random);
    match random.u8(0..3) {
        0 => drop(pool),
        1 => assert_eq!(pool.shutdown(Shutdown::Drain).still_running, 0),
        _ => assert_eq!(pool.shutdown(Shutdown::Discard).still_running, 0),
    }
    other.join();
    assert_eq!(Arc::strong_count(&counted), 1, "a job outlives its pool");
}

/// Waits here, or in a call, a part or a job.
fn place(pool: Handle, mut random: Rng, counted: Arc<()>, depth: u8) {
    let (mut here, inner) = (random.fork(), counted.clone());
    let mut there = move || place(pool, here.fork(), inner.clone(), depth - 1);
    match random.u8(0..if depth == 0 { 1 } else { 9 }) {
        1 | 2 => brigade::blocking(there),
        3 => drop(pool.scope(|scope| scope.execute(there))),
        4 => drop(pool.in_place_scope(|_| there())),
        5 => drop(pool.install(|| brigade::join(|| (), there))),
        6 => drop(pool.try_submit(there).map(|job| job.join())),
        7 => drop(pool.try_spawn(async move { there() }).map(|job| job.join())),
        8 => drop(pool.block_on(async { there() })),
        _ => wait(pool, random, counted),
    }
}

/// Waits for a future that is never ready, in one of the ways.
fn wait(pool: Handle, mut random: Rng, counted: Arc<()>) {
    let never = async move {
        let _counted = counted;
        pending::<()>().await;
    };
    if random.u8(0..3) == 0 {
        let mut set = TaskSet::new(pool);
        drop(set.try_spawn(never));
        set.wait_all();
        return;
    }
    let Ok(job) = pool.try_spawn(never) else { return };
    let ended = if random.bool() { block_on(job) } else { job.join() };
    assert!(ended.is_err_and(|error| error.is_cancelled()));
}
