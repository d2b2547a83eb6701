//! Futures in a set.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::crowd::{Crowd, for_both_queueings};
use crate::support::full::{POLICIES, at_rest, busy};
use brigade::time::sleep;
use brigade::{JoinError, Pool, Reason, Shutdown, TaskSet, WhenFull, block_on, yield_now};
use brigade_testkit::{Drops, Gate, Latch, Seed, eventually, spin_for, test};

const SOON: Duration = Duration::from_millis(1);

fn is_cancelled<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Cancelled))
}

#[test]
fn outcomes_come_as_the_futures_end() {
    for_both_queueings(|builder| {
        let pool = builder.threads(2).build().unwrap();
        let mut set = TaskSet::new(&pool);
        let latches: [Latch; 3] = Default::default();
        for (number, latch) in latches.iter().enumerate() {
            let waits = latch.wait();
            set.spawn(async move {
                waits.await;
                number
            });
        }
        assert_eq!(set.len(), 3);
        assert!(set.try_join_next().is_none() && set.join_next_timeout(SOON).is_none());
        for number in [1, 2, 0] {
            latches[number].open();
            assert_eq!(set.join_next().unwrap().unwrap(), number);
        }
        assert!(set.join_next().is_none() && set.is_empty());
    });
}

#[test]
fn futures_and_closures_are_in_one_set() {
    let pool = Pool::new(2);
    let mut set = TaskSet::new(&pool).limit(3);
    for number in 0..100 {
        _ = match number % 4 {
            0 => set.submit(move || number),
            1 => set.spawn(async move { number }),
            2 => set.spawn(async move {
                sleep(SOON / 10).await;
                yield_now().await;
                number
            }),
            _ => set.spawn(async move {
                yield_now().await;
                panic!("expected: {number}")
            }),
        };
    }
    let (values, errors): (Vec<_>, Vec<_>) = set.outcomes().partition(Result::is_ok);
    let sum: i32 = values.into_iter().map(Result::unwrap).sum();
    assert_eq!(sum, (0..100).filter(|number| number % 4 != 3).sum());
    assert_eq!(errors.len(), 25);
    assert!(errors.into_iter().all(|error| error.unwrap_err().is_panic()));
    assert_eq!(at_rest(&pool), [100, 75, 25, 0, 0]);
}

/// A future that waits is on the pool.
#[test]
fn no_more_futures_have_begun_than_the_limit() {
    for_both_queueings(|builder| {
        let pool = builder.threads(2).build().unwrap();
        let (latch, crowd) = (Latch::default(), Crowd::default());
        let mut set = TaskSet::new(&pool).limit(3);
        for _ in 0..20 {
            let (waits, crowd) = (latch.wait(), crowd.clone());
            set.spawn(async move {
                let _inside = crowd.enter();
                waits.await;
                yield_now().await;
            });
        }
        eventually("three wait", || latch.waiting() >= 3);
        pool.wait_idle();
        assert_eq!((crowd.now(), pool.metrics().running, pool.metrics().accepted), (3, 3, 3));
        latch.open();
        assert!(set.wait_all());
        assert_eq!(crowd.most(), 3);
        assert_eq!(set.outcomes().map(Result::unwrap).count(), 20);
        assert_eq!(at_rest(&pool), [20, 20, 0, 0, 0]);
    });
}

#[test]
fn a_limit_of_one_runs_futures_in_order() {
    let pool = Pool::new(2);
    let mut set = TaskSet::new(&pool).limit(1);
    for number in 0..200 {
        set.spawn(async move {
            yield_now().await;
            number
        });
    }
    assert!(set.outcomes().map(Result::unwrap).eq(0..200));
}

#[test]
fn cancelled_futures_end_whether_they_wait_or_are_queued_or_in_line() {
    for capacity in [None, Some(1)] {
        for_both_queueings(|builder| {
            let builder = builder.threads(1);
            let builder =
                capacity.into_iter().fold(builder, |builder, jobs| builder.capacity(jobs));
            let (pool, latch, drops) =
                (builder.build().unwrap(), Latch::default(), Drops::default());
            let mut set = TaskSet::new(&pool).limit(4);
            let mut spawn = |count| {
                for _ in 0..count {
                    let (waits, token) = (latch.wait(), drops.token());
                    set.spawn(async move {
                        let _token = token;
                        waits.await;
                    });
                }
            };
            spawn(2);
            eventually("two wait", || latch.waiting() == 2);
            let gate = Gate::closed();
            occupy(&pool, &gate);
            spawn(10);
            set.cancel_all();
            gate.open();
            assert_eq!(set.len(), 12);
            assert!(set.outcomes().all(is_cancelled));
            assert_eq!((drops.count(), latch.waiting()), (12, 2));
            let [accepted, returned, panicked, cancelled, _] = at_rest(&pool);
            assert_eq!((returned, panicked), (1, 0));
            assert_eq!(accepted, cancelled + 1);
            set.spawn(async {});
            assert!(set.join_next().unwrap().is_ok(), "what is added later is not affected");
        });
    }
}

#[test]
fn a_set_that_is_dropped_cancels_its_futures() {
    let (pool, latch, drops) = (Pool::new(1), Latch::default(), Drops::default());
    let mut set = TaskSet::new(&pool).limit(2);
    for _ in 0..5 {
        let (waits, token) = (latch.wait(), drops.token());
        set.spawn(async move {
            let _token = token;
            waits.await;
        });
    }
    eventually("two wait", || latch.waiting() == 2);
    drop(set);
    eventually("all are dropped", || drops.count() == 5);
    let [accepted, returned, _, cancelled, _] = at_rest(&pool);
    assert_eq!((returned, accepted), (0, cancelled));
}

#[test]
fn detached_futures_go_on_beyond_the_limit() {
    let (pool, latch) = (Pool::new(2), Latch::default());
    let ran = Arc::new(AtomicUsize::new(0));
    let mut set = TaskSet::new(&pool).limit(2);
    for _ in 0..10 {
        let (waits, ran) = (latch.wait(), ran.clone());
        set.spawn(async move {
            waits.await;
            ran.fetch_add(1, Ordering::SeqCst);
        });
    }
    set.detach_all();
    drop(set);
    eventually("all wait", || latch.waiting() == 10);
    latch.open();
    eventually("all have run", || ran.load(Ordering::SeqCst) == 10);
}

/// In a full pool they are queued beyond the capacity, until their first poll.
#[test]
fn a_bounded_pool_rejects_no_future_of_a_set() {
    for policy in POLICIES {
        for_both_queueings(|builder| {
            let (pool, gate) = busy(builder, 2, policy);
            let (latch, mut set) = (Latch::default(), TaskSet::new(&pool));
            for number in 0..20 {
                let waits = latch.wait();
                set.spawn(async move {
                    waits.await;
                    number
                });
            }
            assert_eq!(pool.metrics().queued, 20, "{policy:?}");
            assert_eq!(pool.try_execute(|| ()).unwrap_err().reason(), Reason::Full);
            gate.open();
            // They have room again once they have been polled.
            eventually("all wait", || latch.waiting() == 20);
            latch.open();
            assert_eq!(set.outcomes().map(Result::unwrap).sum::<i32>(), 190, "{policy:?}");
            assert_eq!(at_rest(&pool), [21, 21, 0, 0, 0], "{policy:?}");
        });
    }
}

#[test]
fn on_the_only_worker_a_job_waits_for_futures() {
    for_both_queueings(|builder| {
        let pool = builder.threads(1).capacity(2).when_full(WhenFull::Reject).build().unwrap();
        let handle = pool.handle();
        let sum = pool.submit(move || {
            let mut set = TaskSet::new(handle).limit(3);
            for number in 0..20 {
                set.spawn(async move {
                    yield_now().await;
                    number
                });
            }
            set.outcomes().map(Result::unwrap).sum::<i32>()
        });
        assert_eq!(sum.join().unwrap(), 190);
    });
}

#[test]
fn a_future_waits_for_a_set_of_futures() {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let sum = pool.spawn(async move {
        let (mut set, mut sum) = (TaskSet::new(handle).limit(2), 0);
        for number in 0..20 {
            set.spawn(async move {
                yield_now().await;
                number
            });
        }
        while let Some(outcome) = set.join_next_async().await {
            sum += outcome.unwrap();
        }
        sum
    });
    assert_eq!(block_on(sum).unwrap(), 190);
}

/// Those that wait, those that are queued and those that wait in the set.
#[test]
fn a_pool_that_is_discarded_cancels_all_and_counts_each_once() {
    for policy in POLICIES {
        for limit in [3, 100] {
            for_both_queueings(|builder| {
                let builder = builder.threads(1).capacity(2).when_full(policy);
                let (pool, drops) = (builder.build().unwrap(), Drops::default());
                let (latch, gate) = (Latch::default(), Gate::closed());
                let mut set = TaskSet::new(&pool).limit(limit);
                let mut spawn = |count| {
                    for _ in 0..count {
                        let (waits, token) = (latch.wait(), drops.token());
                        set.spawn(async move {
                            let _token = token;
                            waits.await;
                        });
                    }
                };
                spawn(2);
                eventually("two wait", || latch.waiting() == 2);
                occupy(&pool, &gate);
                spawn(20);
                open_once_closed(&gate, pool.handle());
                let report = pool.shutdown(Shutdown::Discard);
                assert_eq!((report.ran, report.still_running), (1, 0), "{policy:?}");
                assert!(set.outcomes().all(is_cancelled), "{policy:?}");
                assert_eq!((drops.count(), latch.waiting()), (22, 2), "{policy:?}");
                let [accepted, returned, _, cancelled, _] = at_rest_when_gone(&pool);
                assert_eq!((returned, accepted), (1, cancelled + 1), "{policy:?}");
                assert_eq!(report.discarded, cancelled, "{policy:?}");
                assert_eq!(set.try_spawn(async {}).unwrap_err().reason(), Reason::Closed);
            });
        }
    }
}

/// As `at_rest`, of a pool that has ended.
fn at_rest_when_gone(pool: &Pool) -> [u64; 5] {
    let metrics = pool.metrics();
    assert_eq!((metrics.queued, metrics.running), (0, 0));
    assert_eq!(metrics.accepted, metrics.returned + metrics.panicked + metrics.cancelled);
    [metrics.accepted, metrics.returned, metrics.panicked, metrics.cancelled, metrics.evicted]
}

#[test]
fn a_pool_that_drains_polls_the_futures_beyond_the_limit_of_a_set() {
    for capacity in [None, Some(2)] {
        for_both_queueings(|builder| {
            let builder = builder.threads(2);
            let builder =
                capacity.into_iter().fold(builder, |builder, jobs| builder.capacity(jobs));
            let (pool, gate) = (builder.build().unwrap(), Gate::closed());
            occupy(&pool, &gate);
            let mut set = TaskSet::new(&pool).limit(3);
            for number in 0..20 {
                set.spawn(async move { number });
            }
            open_once_closed(&gate, pool.handle());
            assert_eq!(pool.shutdown(Shutdown::Drain).ran, 22);
            assert_eq!(set.outcomes().map(Result::unwrap).sum::<i32>(), 190);
        });
    }
}

#[test(120)]
fn an_end_beside_futures_of_a_set_is_accounted_for() {
    let mut seed = Seed::printed();
    for round in 0..300 {
        let how = [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard][round % 3];
        let builder = Pool::builder().threads(1 + round % 2);
        let builder = if round % 5 < 2 { builder.capacity(2) } else { builder };
        let (pool, drops) = (builder.build().unwrap(), Drops::default());
        let mut set = TaskSet::new(&pool).limit(1 + round % 4);
        for number in 0..20 {
            let token = drops.token();
            set.spawn(async move {
                let _token = token;
                if number % 2 == 0 {
                    yield_now().await;
                } else {
                    sleep(Duration::from_micros(number)).await;
                }
            });
        }
        spin_for(seed.micros(100));
        let report = pool.shutdown(how);
        let returned = set.outcomes().filter(Result::is_ok).count();
        assert_eq!(drops.count(), 20, "{how:?}, round {round}");
        assert_eq!(
            (report.ran, report.still_running),
            (returned as u64, 0),
            "{how:?}, round {round}"
        );
        assert!(how != Shutdown::Finish || returned == 20, "round {round}");
        assert_eq!(at_rest_when_gone(&pool)[1], returned as u64);
    }
}

#[test]
fn a_future_that_is_not_accepted_comes_back() {
    let pool = Pool::new(1);
    let mut sets = [TaskSet::new(&pool), TaskSet::new(&pool).limit(1)];
    sets.iter_mut().for_each(|set| _ = set.spawn(pending()));
    pool.close();
    for set in &mut sets {
        let rejected = set.try_spawn(async { 42 }).unwrap_err();
        assert_eq!(rejected.reason(), Reason::Closed);
        assert_eq!(block_on(rejected.into_inner()), 42);
        assert_eq!(set.len(), 1);
    }
}
