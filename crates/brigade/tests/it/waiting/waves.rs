//! `wait_idle` waits for what was accepted before the call, and not for what others submit meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::attempts::in_one_of_three_attempts;
use crate::support::crowd::for_both_queueings;
use crate::support::trees::Trees;
use brigade::{Builder, Pool, Queueing, WhenFull};
use brigade_testkit::{Gate, Seed, Watchdog, eventually, spin_for};

/// How many jobs of a stream are unfinished, all the time.
const BACKLOG: usize = 100;

/// What the jobs of a stream do.
#[derive(Clone, Copy, Debug)]
enum Later {
    Short,
    Long,
    HasChildren,
    JoinsItsChild,
}

impl Later {
    fn run(self) {
        let nap = || thread::sleep(Duration::from_millis(1));
        match self {
            Self::Short => {}
            // So that all of them together take a quarter of the second that a wait may last.
            Self::Long => thread::sleep(Duration::from_millis(2)),
            Self::HasChildren => (0..4).for_each(|_| {
                let grandchild = || _ = brigade::execute(|| ());
                let _ = brigade::execute(grandchild);
            }),
            Self::JoinsItsChild => {
                // Both may be refused when the pool ends.
                let child = brigade::submit(nap);
                let _ = child.map(|child| child.join());
            }
        }
    }
}

/// Runs `body` while another thread submits one job after the other.
fn beside_a_stream<R>(pool: &Pool, later: Later, body: impl FnOnce() -> R) -> R {
    struct Stop(Arc<AtomicBool>);
    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (stop, unfinished) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let ran = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let stopper = Stop(Arc::clone(&stop));
        let (handle, any) = (pool.handle(), Arc::clone(&ran));
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if unfinished.fetch_add(1, Ordering::Relaxed) < BACKLOG {
                    let (unfinished, any) = (Arc::clone(&unfinished), Arc::clone(&any));
                    let job = move || {
                        later.run();
                        any.store(true, Ordering::Relaxed);
                        unfinished.fetch_sub(1, Ordering::Relaxed);
                    };
                    handle.execute(job).unwrap();
                } else {
                    unfinished.fetch_sub(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(20));
                }
            }
        });
        eventually("the stream flows", || ran.load(Ordering::Relaxed));
        let result = body();
        drop(stopper);
        result
    })
}

/// Waits, which must not take long.
pub(crate) fn waits_briefly(pool: &Pool) -> Result<(), String> {
    let begun = Instant::now();
    let over = pool.wait_idle_timeout(Duration::from_secs(5));
    let took = begun.elapsed();
    if over && took < Duration::from_secs(1) { Ok(()) } else { Err(format!("{over}, {took:?}")) }
}

/// Pools of one, two and four threads, one that has threads only while there is work, and one that is bounded.
fn sizes(claim: impl Fn(Pool, &str)) {
    let elastic = |builder: Builder| builder.threads(0..=3).keep_alive(Duration::ZERO);
    for size in ["1", "2", "4", "0 to 3", "2, bounded"] {
        for_both_queueings(|builder| {
            let builder = match size.parse::<usize>() {
                Ok(threads) => builder.threads(threads),
                Err(_) if size.starts_with('0') => elastic(builder),
                Err(_) => builder.threads(2).capacity(BACKLOG / 2).when_full(WhenFull::Block),
            };
            claim(builder.build().unwrap(), size);
        });
    }
}

#[test]
fn a_wait_ends_within_a_second_while_others_keep_submitting() {
    let _dog = Watchdog::start_alone(200);
    for later in [Later::Short, Later::Long, Later::HasChildren, Later::JoinsItsChild] {
        sizes(|pool, size| {
            in_one_of_three_attempts(|| {
                beside_a_stream(&pool, later, || (0..2).try_for_each(|_| waits_briefly(&pool)))
                    .map_err(|why| format!("{why}, {later:?}, {size} threads"))
            });
        });
    }
}

#[test]
fn what_was_accepted_before_has_ended_when_a_wait_does_with_all_its_descendants() {
    let _dog = Watchdog::start(120);
    let mut seed = Seed::printed();
    for (later, rounds) in
        [(Later::Short, 200), (Later::HasChildren, 200), (Later::JoinsItsChild, 20)]
    {
        let delays: Vec<_> = (0..rounds).map(|_| seed.micros(30)).collect();
        sizes(|pool, size| {
            let trees = Trees::default();
            beside_a_stream(&pool, later, || {
                for (round, delay) in delays.iter().enumerate() {
                    pool.execute(trees.job(3));
                    spin_for(*delay);
                    assert!(pool.wait_idle());
                    let left = trees.unfinished();
                    assert_eq!(left, 0, "round {round}, {later:?}, {size} threads");
                }
            });
        });
    }
}

#[test]
fn waiters_that_come_at_any_time_each_find_their_own_jobs_done() {
    let _dog = Watchdog::start(60);
    sizes(|pool, size| {
        beside_a_stream(&pool, Later::Short, || {
            thread::scope(|scope| {
                for waiter in 0..4 {
                    let pool = &pool;
                    scope.spawn(move || {
                        for _ in 0..50 {
                            let trees = Trees::default();
                            pool.execute(trees.job(waiter % 3));
                            assert!(pool.wait_idle());
                            assert_eq!(trees.unfinished(), 0, "{size} threads");
                        }
                    });
                }
            });
        });
    });
}

#[test]
fn a_wait_with_a_timeout_ends_beside_a_stream_or_is_not_early() {
    let _dog = Watchdog::start(60);
    sizes(|pool, size| {
        let gate = Gate::closed();
        beside_a_stream(&pool, Later::Short, || {
            assert!(pool.wait_idle_timeout(Duration::from_secs(20)), "{size} threads");
            let held = gate.clone();
            pool.execute(move || held.wait());
            for millis in [0, 1, 20] {
                let (timeout, begun) = (Duration::from_millis(millis), Instant::now());
                assert!(!pool.wait_idle_timeout(timeout), "a job is held, {size} threads");
                assert!(begun.elapsed() >= timeout);
            }
            gate.open();
            assert!(pool.wait_idle_timeout(Duration::from_secs(20)), "{size} threads");
        });
    });
}

#[test]
fn one_shared_queue_keeps_the_order_of_each_producer_while_waits_come_and_go() {
    let _dog = Watchdog::start(60);
    let pool = Pool::builder().threads(1).queueing(Queueing::Shared).build().unwrap();
    let wrong = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            let (pool, wrong) = (&pool, &wrong);
            scope.spawn(move || {
                let next = Arc::new(AtomicUsize::new(0));
                for number in 0..60_000 {
                    let (next, wrong) = (Arc::clone(&next), Arc::clone(wrong));
                    pool.execute(move || {
                        let expected = next.fetch_add(1, Ordering::Relaxed);
                        wrong.fetch_add(usize::from(expected != number), Ordering::Relaxed);
                    });
                    if number % 500 == 0 {
                        // Old work all the time, so that waits have something to wait for.
                        pool.execute(|| _ = brigade::execute(thread::yield_now));
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| (0..2000).for_each(|_| assert!(pool.wait_idle())));
        }
    });
    assert!(pool.wait_idle());
    assert_eq!(wrong.load(Ordering::Relaxed), 0);
}

#[test]
fn the_metrics_add_up_while_waits_come_and_go() {
    let _dog = Watchdog::start(60);
    sizes(|pool, size| {
        let accepted = beside_a_stream(&pool, Later::HasChildren, || {
            for _ in 0..200 {
                pool.wait_idle_timeout(Duration::from_micros(200));
                let sums = pool.metrics();
                let ended = sums.returned + sums.panicked + sums.cancelled;
                assert_eq!(sums.accepted, ended + sums.queued + sums.running, "{size}: {sums:?}");
            }
            pool.metrics().accepted
        });
        assert!(pool.wait_idle());
        let sums = pool.metrics();
        assert!(sums.accepted >= accepted);
        assert_eq!((sums.queued, sums.running, sums.returned), (0, 0, sums.accepted), "{size}");
    });
}

#[test]
fn waits_end_neither_early_nor_late_while_the_size_of_the_pool_goes_up_and_down() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(1..=4).build().unwrap();
        let (trees, ended) = (Trees::default(), AtomicBool::new(false));
        beside_a_stream(&pool, Later::HasChildren, || {
            thread::scope(|scope| {
                scope.spawn(|| {
                    for threads in [1, 4, 2, 3].into_iter().cycle() {
                        pool.resize(1..=threads).unwrap();
                        thread::sleep(Duration::from_micros(200));
                        if ended.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
                for _ in 0..300 {
                    pool.execute(trees.job(3));
                    assert!(pool.wait_idle_timeout(Duration::from_secs(20)), "it never ends");
                    assert_eq!(trees.unfinished(), 0);
                }
                ended.store(true, Ordering::Relaxed);
            });
        });
    });
}
