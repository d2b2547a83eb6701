//! Deep and long recursions on small stacks.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use brigade::{Pool, join, scope};
use brigade_testkit::{Gate, test};

use super::pools::join_stolen;

const STACK: usize = 256 << 10;

/// For 64 waits, one inside the other: without optimization a level takes 5 KiB, and more under a sanitizer.
const DEEP: usize = if cfg!(debug_assertions) { 2 << 20 } else { STACK };

fn pools() -> impl Iterator<Item = Pool> {
    let build = |threads| Pool::builder().threads(threads).stack_size(STACK).build().unwrap();
    [1, 2, 8].into_iter().map(build)
}

fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (one, other) = join(|| leaves(depth - 1), || leaves(depth - 1));
    one + other
}

#[test]
fn a_million_balanced_joins_fit_a_small_stack() {
    let depth = if cfg!(miri) { 8 } else { 20 };
    for pool in pools() {
        assert_eq!(pool.install(|| leaves(depth)).unwrap(), 1 << depth);
    }
}

/// One of a hundred is stolen for sure.
#[test(pool in pools())]
fn a_hundred_thousand_joins_fit_a_small_stack(pool: Pool) {
    let ran = AtomicUsize::new(0);
    let count = || _ = ran.fetch_add(1, Ordering::Relaxed);
    pool.install(|| {
        for number in 0..100_000 {
            if number % 100 == 0 {
                join_stolen(count, || join(count, count));
            } else {
                join(count, || join(count, count));
            }
        }
    })
    .unwrap();
    assert_eq!(ran.into_inner(), 300_000);
}

/// Ten jobs for each scope, and each of them has a scope again.
fn jobs(depth: u32, ran: &AtomicUsize) {
    ran.fetch_add(1, Ordering::Relaxed);
    if depth > 0 {
        scope(|s| (0..10).for_each(|_| s.execute(|| jobs(depth - 1, ran))));
    }
}

/// Fault 40.
#[test]
fn a_million_scoped_jobs_fit_a_small_stack() {
    let depth = if cfg!(miri) { 2 } else { 6 };
    for pool in pools() {
        let ran = AtomicUsize::new(0);
        pool.install(|| jobs(depth, &ran)).unwrap();
        assert_eq!(ran.into_inner(), (10_usize.pow(depth + 1) - 1) / 9);
    }
}

/// Each level's second closure is on another thread, which may run what the waiting one forks.
fn steals(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (one, other) = join_stolen(|| leaves(4), || steals(depth - 1));
    one + other
}

#[test(pool in pools())]
fn waits_for_stolen_forks_nest_finitely(pool: Pool) {
    // Each level needs a thread: as many as there may be.
    let levels = 2 * *pool.size().end() - 1;
    let levels = levels.min(6) as u32;
    for _ in 0..50 {
        assert_eq!(pool.install(|| steals(levels)).unwrap(), u64::from(levels) * 16 + 1);
    }
}

/// Forks the next level, and returns once another thread has begun that, and has forked the one after it: so a thread that waits
/// for the next level finds the one after it at its first look.
fn relay(levels: u32, begun: &Gate, ran: &Mutex<HashMap<ThreadId, usize>>) {
    *ran.lock().unwrap().entry(thread::current().id()).or_default() += 1;
    if levels == 0 {
        return begun.open();
    }
    let next = Gate::closed();
    let wait = || {
        begun.open();
        next.wait();
    };
    join(wait, || relay(levels - 1, &next, ran));
}

/// Fault 40: two threads would take the levels in turn, to the end of their stacks.
#[test(threads in [2, 8])]
fn a_thread_inside_64_waits_steals_no_more(threads: usize) {
    // As many as there are levels: a gate is no wait that the pool knows of.
    let builder = Pool::builder().threads(threads).spare_threads(200).stack_size(DEEP);
    let pool = builder.build().unwrap();
    let ran = Mutex::new(HashMap::new());
    pool.install(|| relay(200, &Gate::closed(), &ran)).unwrap();
    let ran = ran.into_inner().unwrap();
    assert_eq!(ran.values().sum::<usize>(), 201);
    // One that it began outside of a wait, and one in each wait.
    let most = ran.values().max();
    assert!(most.is_some_and(|&most| most <= 65), "{most:?}");
}
