//! Random trees of joins, scopes, loops, jobs and futures, with panics and cancels, checked by counts. `ci/soak.sh` runs it for longer.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brigade::{
    Builder, Order, Pool, Queueing, Scope, join, map_reduce, par_chunks_mut, par_for, scope,
    yield_now,
};
use brigade_testkit::{Seed, Watchdog};

use crate::support::full::at_rest;
use crate::support::soak::soak_time;

/// What has begun and ended, by everything that is alive.
#[derive(Default)]
struct Counts {
    live: AtomicUsize,
    ran: AtomicUsize,
}

struct Live<'a>(&'a Counts);

impl<'a> Live<'a> {
    fn new(counts: &'a Counts) -> Self {
        counts.live.fetch_add(1, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether it panics is decided at random.
fn grow(counts: &Counts, mut random: Seed, depth: u32) {
    let _live = Live::new(counts);
    counts.ran.fetch_add(1, Ordering::Relaxed);
    if depth == 0 {
        if random.below(200) == 0 {
            panic!("expected: a leaf");
        }
        return;
    }
    let (one, other) = (random.fork(1), random.fork(2));
    let below = |random| grow(counts, random, depth - 1);
    match random.below(6) {
        0 | 1 => {
            join(|| below(one), || below(other));
        }
        2 => scope(|s| branch(s, counts, &mut random, depth)),
        3 => {
            let caught = panic::catch_unwind(AssertUnwindSafe(|| {
                join(|| below(one), || scope(|s| s.execute(|| below(other))));
            }));
            drop(caught);
        }
        4 => loops(counts, &mut random, depth),
        _ => below(one),
    }
}

/// A loop of any kind, of which a few items are branches.
fn loops(counts: &Counts, random: &mut Seed, depth: u32) {
    let (length, grain) = (random.below(40) as usize, random.below(4) as usize);
    let (live, random_below) = (Live::new(counts), random.fork(20));
    let item = |index: usize| {
        let _live = Live::new(live.0);
        if index % 16 == 1 {
            grow(counts, random_below.fork(index as u64), depth - 1);
        }
    };
    match random.below(3) {
        0 => par_for(0..length, grain, item),
        1 => {
            let mut seen = vec![0_u8; length];
            par_chunks_mut(&mut seen, grain + 1, |index, chunk| {
                chunk.iter_mut().for_each(|seen| *seen += 1);
                item(index);
            });
            assert!(seen.iter().all(|&seen| seen == 1), "each once");
        }
        _ => {
            let count = |index| {
                item(index);
                (index, index + 1)
            };
            let both = |left: (usize, usize), right: (usize, usize)| {
                assert_eq!(left.1, right.0, "in order");
                (left.0, right.1)
            };
            let all = map_reduce(0..length, grain, count, both);
            assert_eq!(all, (length > 0).then_some((0, length)));
        }
    }
}

fn branch<'scope>(
    s: &'scope Scope<'scope, '_>,
    counts: &'scope Counts,
    random: &mut Seed,
    depth: u32,
) {
    let mut handles = Vec::new();
    for number in 0..random.below(5) {
        let (random_below, live) = (random.fork(number + 3), Live::new(counts));
        match random.below(6) {
            0 | 1 => s.execute(move || {
                let _live = live;
                grow(counts, random_below, depth - 1);
            }),
            2 => s.execute_with(move |s| {
                let _live = live;
                s.execute(move || grow(counts, random_below, depth - 1));
            }),
            3 => handles.push(s.submit(move || {
                let _live = live;
                grow(counts, random_below, depth - 1);
            })),
            4 => handles.push(s.spawn(async move {
                let _live = live;
                yield_now().await;
                grow(counts, random_below, depth - 1);
            })),
            _ => drop(s.submit(move || {
                let _live = live;
                scope(|inner| inner.execute(|| grow(counts, random_below, depth - 1)));
            })),
        }
    }
    if random.below(20) == 0 {
        s.cancel();
    }
    let keep = random.below(2) == 0;
    handles
        .into_iter()
        .rev()
        .for_each(|handle| if keep { _ = handle.join() } else { drop(handle) });
}

fn builder(random: &mut Seed) -> Builder {
    let builder =
        Pool::builder().order(if random.below(2) == 0 { Order::Lifo } else { Order::Fifo });
    let queueing = if random.below(2) == 0 { Queueing::Stealing } else { Queueing::Shared };
    // Enough for all waits: with fewer, some of them may wait for each other for ever.
    let builder = builder.queueing(queueing).keep_alive(random.micros(50)).spare_threads(64);
    match random.below(4) {
        0 => builder.threads(0..=4),
        1 => builder.threads(1),
        2 => builder.threads(2),
        _ => builder.threads(8),
    }
}

#[test]
fn random_trees_end_before_their_root_returns() {
    let time = soak_time(Duration::from_secs(2));
    let _dog = Watchdog::start(time.as_secs() + 20);
    let mut random = Seed::printed();
    let (begun, mut ran, mut pools) = (Instant::now(), 0, 0);
    while begun.elapsed() < time {
        random = random.fork(1);
        let pool = builder(&mut random).build().unwrap();
        std::thread::scope(|t| {
            let counts: Vec<_> = (0..3)
                .map(|number| {
                    let (random, pool) = (random.fork(number + 10), &pool);
                    t.spawn(move || {
                        let counts = Counts::default();
                        for number in 0..10 {
                            let random = random.fork(number);
                            let run = || match number % 2 {
                                0 => pool.install(|| grow(&counts, random, 8)).unwrap(),
                                _ => {
                                    let mut random = random;
                                    pool.in_place_scope(|s| branch(s, &counts, &mut random, 8))
                                        .unwrap();
                                }
                            };
                            drop(panic::catch_unwind(AssertUnwindSafe(run)));
                            assert_eq!(counts.live.load(Ordering::SeqCst), 0, "it has not ended");
                        }
                        counts.ran.into_inner()
                    })
                })
                .collect();
            ran += counts.into_iter().map(|counts| counts.join().unwrap()).sum::<usize>();
        });
        at_rest(&pool);
        pools += 1;
    }
    println!("{pools} pools, {ran} branches");
}
