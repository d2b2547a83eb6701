//! Threads that are not the pool's and fork as its workers do.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use brigade::{Builder, Handle, Pool, Shutdown, current_worker_index, in_place_scope, join, scope};
use brigade_testkit::{Gate, Watchdog, eventually, panics};

use super::pools::join_stolen;
use crate::support::full::at_rest;

/// The most threads that take part at one time.
const MOST: usize = 32;

fn helped(threads: usize) -> Builder {
    Pool::builder().threads(threads).caller_participates(true)
}

/// A pool whose only thread waits for the gate.
fn occupied(gate: &Gate) -> Pool {
    let pool = helped(1).build().unwrap();
    let (begun, gate) = (Gate::closed(), gate.clone());
    let begins = begun.clone();
    pool.execute(move || {
        begins.open();
        gate.wait();
    });
    begun.wait();
    pool
}

#[test]
fn a_caller_runs_all_of_it_while_the_workers_are_busy() {
    let _dog = Watchdog::start(20);
    let gate = Gate::closed();
    let pool = occupied(&gate);
    let here = thread::current().id();
    let is_here = || thread::current().id() == here;
    assert!(pool.install(is_here).unwrap());
    assert_eq!(pool.join(is_here, is_here).unwrap(), (true, true));
    let ran = AtomicUsize::new(0);
    let count = || _ = ran.fetch_add(usize::from(is_here()), Ordering::Relaxed);
    pool.scope(|s| (0..100).for_each(|_| s.execute(count))).unwrap();
    pool.in_place_scope(|s| (0..100).for_each(|_| s.execute(count))).unwrap();
    let entered = pool.in_place_scope(|_| {
        join(count, count);
        Handle::current()
    });
    assert_eq!(entered.unwrap(), None, "what it submits goes where it would without the scope");
    pool.enter(|| {
        scope(|s| (0..100).for_each(|_| s.execute(count)));
        in_place_scope(|s| (0..100).for_each(|_| s.execute(count)));
        brigade::par_for(0..100, 1, |_| count());
        join(count, count);
    });
    assert_eq!(ran.into_inner(), 504);
    gate.open();
    at_rest(&pool);
}

#[test]
fn workers_take_what_a_caller_forks() {
    let _dog = Watchdog::start(20);
    for threads in [1, 2, 8] {
        let pool = helped(threads).build().unwrap();
        for _ in 0..200 {
            let both = Barrier::new(2);
            let meet = || thread::current().id();
            let (one, other) =
                pool.join(|| (both.wait(), meet()).1, || (both.wait(), meet()).1).unwrap();
            assert_ne!(one, other);
            pool.in_place_scope(|s| {
                s.execute(|| _ = both.wait());
                both.wait();
            })
            .unwrap();
        }
        at_rest(&pool);
    }
}

#[test]
fn a_caller_is_no_worker_and_has_entered_the_pool() {
    let _dog = Watchdog::start(20);
    let pool = helped(1).build().unwrap();
    let local = pool.install(|| {
        assert_eq!(current_worker_index(), None);
        assert_eq!(Handle::current(), Some(pool.handle()));
        assert_eq!(brigade::submit(current_worker_index).join().unwrap(), Some(0), "a worker's");
        assert_eq!(pool.install(current_worker_index).unwrap(), None, "at once");
        panic::catch_unwind(|| drop(brigade::spawn_local(async {}))).unwrap_err()
    });
    assert!(
        panics::text(&*local.unwrap()).is_some_and(|text| text.contains("spawned on a worker"))
    );
    assert_eq!(Handle::current(), None);
    // So has what it runs while it waits.
    let current = pool.install(|| {
        let forked = Gate::closed();
        let inner = || join(|| forked.wait(), || (forked.open(), Handle::current()).1).1;
        join_stolen(|| (), inner).1
    });
    assert_eq!(current.unwrap(), Some(pool.handle()));
    at_rest(&pool);
}

#[test]
fn a_panic_of_a_caller_is_its_own_and_counted() {
    let _dog = Watchdog::start(20);
    let pool = helped(2).build().unwrap();
    for _ in 0..50 {
        let panics = || pool.install(|| join_stolen(|| (), || panic!("expected: stolen")));
        let payload = panic::catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(panics::text(&*payload), Some("expected: stolen"));
        let panics = || pool.scope(|s| s.execute(|| panic!("expected: in the scope")));
        let payload = panic::catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(panics::text(&*payload), Some("expected: in the scope"));
    }
    at_rest(&pool);
    let metrics = pool.metrics();
    assert!(metrics.panicked >= 100, "{metrics:?}");
    assert_eq!(metrics.workers.len(), 3, "all these calls had the same queues");
}

#[test]
fn more_callers_than_may_take_part_are_served_by_the_workers() {
    let _dog = Watchdog::start(30);
    let pool = helped(8).build().unwrap();
    let all = Barrier::new(MOST + 8);
    let here = AtomicUsize::new(0);
    thread::scope(|t| {
        for _ in 0..MOST + 8 {
            t.spawn(|| {
                let own = thread::current().id();
                let on = pool.install(|| (all.wait(), thread::current().id()).1).unwrap();
                here.fetch_add(usize::from(on == own), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(here.into_inner(), MOST);
    at_rest(&pool);
}

#[test]
fn callers_of_several_pools_may_be_nested() {
    let _dog = Watchdog::start(20);
    let pools = [helped(1).build().unwrap(), helped(2).build().unwrap()];
    let current = |pool: &Pool| Handle::current() == Some(pool.handle());
    pools[0]
        .install(|| {
            join_stolen(
                || {
                    pools[1].install(|| {
                        let inner = pools[0].install(|| current(&pools[0])).unwrap();
                        assert!(inner && current(&pools[1]));
                        join_stolen(|| assert!(current(&pools[1])), || assert!(current(&pools[1])));
                    })
                },
                || assert!(current(&pools[0])),
            )
            .0
        })
        .unwrap()
        .unwrap();
    // A worker of another pool sleeps.
    let there = pools[0].submit({
        let other = pools[1].handle();
        move || other.install(current_worker_index).unwrap()
    });
    assert!(there.join().unwrap().is_some());
    pools.iter().for_each(|pool| _ = at_rest(pool));
}

#[test]
fn the_end_of_a_pool_waits_for_its_callers() {
    for how in [Shutdown::Discard, Shutdown::Drain, Shutdown::Finish] {
        let _dog = Watchdog::start(20);
        let pool = helped(2).build().unwrap();
        let (inside, go_on) = (Gate::closed(), Gate::closed());
        thread::scope(|t| {
            let call = t.spawn(|| {
                pool.install(|| {
                    inside.open();
                    go_on.wait();
                    assert!(pool.try_submit(|| ()).is_err(), "it is no worker");
                    let ran = AtomicUsize::new(0);
                    let count = || _ = ran.fetch_add(1, Ordering::Relaxed);
                    join(count, count);
                    ran.into_inner()
                })
            });
            inside.wait();
            assert!(!pool.wait_idle_timeout(Duration::from_millis(5)));
            let ends = t.spawn(|| pool.shutdown(how));
            eventually("the close", || pool.metrics().is_closed);
            assert!(pool.install(|| ()).is_err(), "it is closed");
            assert!(!ends.is_finished());
            go_on.open();
            assert_eq!(call.join().unwrap().unwrap(), 2, "{how:?}");
            let report = ends.join().unwrap();
            assert_eq!((report.ran, report.still_running), (1, 0), "{how:?} {report:?}");
        });
    }
}

#[test]
fn a_caller_that_ends_its_pool_does_not_wait_for_itself() {
    let _dog = Watchdog::start(20);
    for how in [Shutdown::Discard, Shutdown::Drain, Shutdown::Finish] {
        let pool = helped(2).build().unwrap();
        let sum = pool.install(|| {
            assert!(!pool.wait_idle(), "it would wait for itself");
            pool.shutdown(how);
            let (one, other) = join(|| 1, || 2);
            one + other
        });
        assert_eq!(sum.unwrap(), 3);
    }
}

/// What it adds to a scope after the pool was closed runs, as on a worker.
#[test]
fn a_pool_does_not_end_before_the_jobs_of_its_callers() {
    for how in [Shutdown::Drain, Shutdown::Finish] {
        for in_place in [false, true] {
            let _dog = Watchdog::start(20);
            let pool = helped(2).build().unwrap();
            let (inside, go_on) = (Gate::closed(), Gate::closed());
            let ran = AtomicUsize::new(0);
            thread::scope(|t| {
                let call = t.spawn(|| {
                    let body = || {
                        inside.open();
                        go_on.wait();
                    };
                    let count = || _ = ran.fetch_add(1, Ordering::Relaxed);
                    match in_place {
                        true => drop(pool.in_place_scope(|s| {
                            body();
                            (0..8).for_each(|_| s.execute(count));
                        })),
                        false => drop(pool.scope(|s| {
                            body();
                            (0..8).for_each(|_| s.execute(count));
                        })),
                    }
                });
                inside.wait();
                let ends = t.spawn(|| pool.shutdown(how));
                eventually("the close", || pool.metrics().is_closed);
                eventually("its workers sleep", || {
                    pool.metrics().idle_threads == pool.metrics().threads
                });
                go_on.open();
                call.join().unwrap();
                assert_eq!(ends.join().unwrap().discarded, 0, "{how:?}");
            });
            assert_eq!(ran.into_inner(), 8, "{how:?} {in_place}");
        }
    }
}

#[test]
fn a_caller_that_has_entered_another_pool_forks_for_that_one() {
    let _dog = Watchdog::start(20);
    let (pool, other) =
        (helped(1).build().unwrap(), Pool::builder().threads(1).name("other").build().unwrap());
    let is_other = || thread::current().name().is_some_and(|name| name.starts_with("other"));
    pool.install(|| {
        other.enter(|| {
            assert!(scope(|_| is_other()));
            assert_eq!(join(is_other, is_other), (true, true));
            brigade::par_for(0..4, 1, |_| assert!(is_other()));
        });
        assert!(!scope(|_| is_other()));
    })
    .unwrap();
}

/// The last thread that a pool may have waits, and cannot be counted; but it need not run what it finds, as a caller helps.
#[test]
fn a_lock_across_a_fork_that_a_caller_has_taken_is_not_asked_for_by_other_jobs() {
    let _dog = Watchdog::start(20);
    let pool = helped(1).spare_threads(0).build().unwrap();
    let lock = std::sync::Arc::new(std::sync::Mutex::new(()));
    let (begun, wants) = (Gate::closed(), lock.clone());
    pool.join(
        || begun.wait(),
        || {
            let held = lock.lock().unwrap();
            brigade::execute(move || drop(wants.lock().unwrap()));
            let taken = Gate::closed();
            join(
                || {
                    begun.open();
                    taken.wait();
                },
                || {
                    taken.open();
                    // Long enough for the worker to find nothing else.
                    thread::sleep(Duration::from_millis(20));
                },
            );
            drop(held);
        },
    )
    .unwrap();
    at_rest(&pool);
}
