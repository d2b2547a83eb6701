//! Whatever the classes are: each accepted job has exactly one outcome, and the counters add up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::busy::occupy;
use brigade::{Builder, Handle, Pool, Priority, Queueing, Shutdown, WhenFull, yield_now};
use brigade_testkit::{Drops, Gate, Seed, test};

const CLASSES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

/// Jobs that submit others, for some generations, as closures and futures of random classes.
#[derive(Clone)]
struct Mix {
    pool: Handle,
    accepted: Arc<AtomicU64>,
    ran: Arc<AtomicU64>,
    submitted: Arc<AtomicU64>,
    drops: Drops,
}

impl Mix {
    fn submit(&self, mut seed: Seed, generations: u64) {
        let mix = self.clone();
        self.submitted.fetch_add(1, Ordering::Relaxed);
        let token = self.drops.token();
        let number = seed.below(1 << 32);
        let builder = match seed.below(4) {
            3 => self.pool.job(),
            class => self.pool.job().priority(CLASSES[class as usize]),
        };
        let how = seed.below(4);
        let run = move || {
            mix.ran.fetch_add(1, Ordering::Relaxed);
            for child in 0..generations.min(2) {
                mix.submit(seed.fork(number + child), generations - 1);
            }
            drop(token);
        };
        let accepted = match how {
            0 => builder.execute(run).is_ok(),
            1 => builder.submit(run).is_ok(),
            2 => builder.after(Duration::from_micros(number % 500)).submit(run).is_ok(),
            _ => {
                let future = async move {
                    yield_now().await;
                    run();
                };
                builder.spawn(future).is_ok()
            }
        };
        self.accepted.fetch_add(u64::from(accepted), Ordering::Relaxed);
    }
}

/// Submits a mix from three threads, and ends the pool this way in the middle of it or after it.
fn end_in(builder: Builder, how: Shutdown, midway: bool) {
    let seed = Seed::printed();
    let pool = builder.build().unwrap();
    let mix = Mix {
        pool: pool.handle(),
        accepted: Arc::default(),
        ran: Arc::default(),
        submitted: Arc::default(),
        drops: Drops::default(),
    };
    let mut producers: Vec<_> = (0..3)
        .map(|producer| {
            let (mix, seed) = (mix.clone(), seed.fork(producer));
            std::thread::spawn(move || {
                for root in 0..100 {
                    mix.submit(seed.fork(root), 4);
                }
            })
        })
        .collect();
    if midway {
        while mix.ran.load(Ordering::Relaxed) < 100 {
            std::thread::yield_now();
        }
    } else {
        producers.drain(..).for_each(|producer| producer.join().unwrap());
    }
    let report = pool.shutdown(how);
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    let metrics = pool.metrics();
    let ended = metrics.returned + metrics.panicked + metrics.cancelled;
    assert_eq!((metrics.queued, metrics.running, metrics.accepted), (0, 0, ended));
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    // A future that ran may have been cancelled before it could say so.
    assert!(metrics.returned <= load(&mix.ran) && report.still_running == 0);
    assert_eq!(metrics.accepted, load(&mix.accepted));
    assert_eq!(mix.drops.count() as u64, load(&mix.submitted), "captures are dropped once");
    if how == Shutdown::Finish {
        assert_eq!((load(&mix.ran), metrics.returned), (300 * 23, 300 * 23));
    }
}

fn builders() -> impl Iterator<Item = Builder> {
    [1, 3].into_iter().flat_map(|threads| {
        [Queueing::Stealing, Queueing::Shared]
            .map(|queueing| Pool::builder().threads(threads).queueing(queueing))
    })
}

#[test(120)]
fn a_random_mix_is_run_to_its_end() {
    builders().for_each(|builder| end_in(builder, Shutdown::Finish, false));
}

#[test(120)]
fn a_random_mix_loses_nothing_when_it_is_drained_or_discarded() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for midway in [false, true] {
            builders().for_each(|builder| end_in(builder, how, midway));
        }
    }
}

#[test(120)]
fn a_random_mix_in_a_bounded_pool_loses_nothing() {
    for policy in [WhenFull::Block, WhenFull::RunInCaller, WhenFull::DropOldest, WhenFull::Reject] {
        let bounded = |builder: Builder| builder.capacity(5).when_full(policy);
        for how in [Shutdown::Drain, Shutdown::Discard] {
            builders().for_each(|builder| end_in(bounded(builder), how, false));
        }
    }
}

#[test]
fn a_discarded_pool_drops_the_queued_jobs_of_every_class() {
    let pool = Pool::new(1);
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let jobs: Vec<_> =
        CLASSES.map(|class| pool.job().priority(class).submit(|| ()).unwrap()).into();
    let inner = gate.clone();
    let handle = pool.handle();
    let opens = std::thread::spawn(move || {
        while !handle.metrics().is_closed {
            std::thread::yield_now();
        }
        inner.open();
    });
    assert_eq!(pool.shutdown(Shutdown::Discard).discarded, 3);
    assert!(jobs.into_iter().all(|job| job.join().unwrap_err().is_cancelled()));
    opens.join().unwrap();
}

#[test]
fn a_closed_pool_rejects_every_class_and_runs_its_queue() {
    let pool = Pool::new(1);
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let handle = pool.handle();
    let jobs = CLASSES.map(|class| {
        // Its child comes from inside, which a closed pool accepts.
        let job = pool.job().priority(class).submit(move || handle.submit(|| 42));
        job.unwrap()
    });
    pool.close();
    for class in CLASSES {
        let refused = pool.job().priority(class).execute(|| ());
        assert_eq!(refused.unwrap_err().reason(), brigade::Reason::Closed);
    }
    gate.open();
    for job in jobs {
        assert_eq!(job.join().unwrap().join().unwrap(), 42);
    }
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 7);
}

/// A job that is joined or cancelled leaves its entry behind: these are swept out, as in the other queues.
#[test]
fn entries_of_jobs_that_have_ended_do_not_accumulate() {
    for class in CLASSES {
        let pool = Pool::new(1);
        let handle = pool.handle();
        let most = pool.submit(move || {
            let mut most = 0;
            for number in 0..10_000 {
                let job = handle.job().priority(class).submit(|| ()).unwrap();
                if number % 2 == 0 {
                    job.join().unwrap();
                } else {
                    _ = job.cancel();
                }
                most = most.max(handle.metrics().queued);
            }
            most
        });
        let most = most.join().unwrap();
        assert!(most <= 512, "{most} entries of class {class:?}");
    }
}
