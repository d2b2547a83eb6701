//! `wait_idle` while other threads submit: it returns at a moment when nothing is queued and nothing runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::crowd::for_both_queueings;
use crate::support::soak::soak_time;
use crate::support::trees::Trees;
use brigade::{Builder, Pool, WhenFull};
use brigade_testkit::{Gate, OnDrop, Seed, Watchdog, eventually, spin_for, test};

/// How many jobs of a stream come between two of its pauses.
const BURST: usize = 100;

/// What the jobs of a stream do.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Short,
    HasChildren,
    JoinsItsChild,
}

const KINDS: [Kind; 3] = [Kind::Short, Kind::HasChildren, Kind::JoinsItsChild];

impl Kind {
    fn run(self, counted: &Counted) {
        match self {
            Self::Short => {}
            Self::HasChildren => (0..4).for_each(|_| {
                let counted = counted.another();
                let child = || _ = brigade::try_execute(move || drop(counted));
                let _ = brigade::try_execute(child);
            }),
            Self::JoinsItsChild => {
                // Both may be refused when the pool ends.
                let child = brigade::try_submit(|| ());
                let _ = child.map(|child| child.join());
            }
        }
    }
}

/// One of the jobs of a stream that have not ended, their descendants included.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn another(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `body` while another thread submits bursts, each when the one before has ended.
fn beside_bursts<R>(pool: &Pool, kind: Kind, body: impl FnOnce() -> R) -> R {
    let (stop, stream) = (Arc::new(AtomicBool::new(false)), Counted(Arc::new(AtomicUsize::new(1))));
    let ran = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let stops = Arc::clone(&stop);
        let stopper = OnDrop(move || stops.store(true, Ordering::Relaxed));
        let (handle, any) = (pool.handle(), Arc::clone(&ran));
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..BURST {
                    let (counted, any) = (stream.another(), Arc::clone(&any));
                    let job = move || {
                        kind.run(&counted);
                        any.store(true, Ordering::Relaxed);
                    };
                    handle.execute(job);
                }
                while stream.0.load(Ordering::Relaxed) > 1 {
                    thread::yield_now();
                }
                // The pool comes to rest now and then.
                _ = handle.wait_idle_timeout(Duration::from_millis(1));
            }
        });
        eventually("the stream flows", || ran.load(Ordering::Relaxed));
        let result = body();
        drop(stopper);
        result
    })
}

/// Pools of one, two and four threads, one that has threads only while there is work, and one that is bounded.
fn sizes(claim: impl Fn(Pool, &str)) {
    let elastic = |builder: Builder| builder.threads(0..=3).keep_alive(Duration::ZERO);
    for size in ["1", "2", "4", "0 to 3", "2, bounded"] {
        for_both_queueings(|builder| {
            let builder = match size.parse::<usize>() {
                Ok(threads) => builder.threads(threads),
                Err(_) if size.starts_with('0') => elastic(builder),
                Err(_) => builder.threads(2).capacity(BURST / 2).when_full(WhenFull::Block),
            };
            claim(builder.build().unwrap(), size);
        });
    }
}

#[test(unwatched)]
fn a_wait_covers_earlier_jobs_and_descendants() {
    let time = soak_time(Duration::ZERO);
    let _dog = Watchdog::start(120 + time.as_secs());
    let (mut seed, begun) = (Seed::printed(), Instant::now());
    loop {
        for kind in KINDS {
            check_waits(kind, &mut seed);
        }
        if begun.elapsed() >= time {
            break;
        }
    }
}

fn check_waits(kind: Kind, seed: &mut Seed) {
    // With a delay in one of sixteen steps, a burst takes a second.
    let rounds = if cfg!(brigade_delays) { 3 } else { 30 };
    let delays: Vec<_> = (0..rounds).map(|_| seed.micros(30)).collect();
    sizes(|pool, size| {
        let trees = Trees::default();
        beside_bursts(&pool, kind, || {
            for (round, delay) in delays.iter().enumerate() {
                pool.execute(trees.job(3));
                spin_for(*delay);
                assert!(pool.wait_idle());
                let left = trees.unfinished();
                assert_eq!(left, 0, "round {round}, {kind:?}, {size} threads");
            }
        });
    });
}

#[test]
fn waiters_at_any_time_find_their_jobs_done() {
    sizes(|pool, size| {
        beside_bursts(&pool, Kind::Short, || {
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

/// Caught: waiting for what was accepted before the call and for nothing else.
#[test(for_both_queueings)]
fn a_wait_includes_jobs_submitted_meanwhile(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let [first, second, begun] = [(); 3].map(|()| Gate::closed());
    let (held, ended) = (first.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&ended);
    pool.execute(move || {
        held.wait();
        counter.fetch_add(1, Ordering::SeqCst);
    });
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            assert!(pool.wait_idle());
            ended.load(Ordering::SeqCst)
        });
        let (held, begins, counter) = (second.clone(), begun.clone(), Arc::clone(&ended));
        pool.execute(move || {
            begins.open();
            held.wait();
            counter.fetch_add(1, Ordering::SeqCst);
        });
        begun.wait();
        first.open();
        eventually("the first has ended", || ended.load(Ordering::SeqCst) == 1);
        second.open();
        assert_eq!(waiter.join().unwrap(), 2);
    });
}

#[test]
fn a_wait_with_a_timeout_ends_beside_bursts() {
    sizes(|pool, size| {
        let gate = Gate::closed();
        beside_bursts(&pool, Kind::Short, || {
            assert!(pool.wait_idle_timeout(Duration::MAX), "{size} threads");
            let held = gate.clone();
            pool.execute(move || held.wait());
            for millis in [0, 1, 20] {
                let (timeout, begun) = (Duration::from_millis(millis), Instant::now());
                assert!(!pool.wait_idle_timeout(timeout), "a job is held, {size} threads");
                assert!(begun.elapsed() >= timeout);
            }
            gate.open();
            assert!(pool.wait_idle_timeout(Duration::MAX), "{size} threads");
        });
    });
}
