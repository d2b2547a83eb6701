//! Locks that are held while a thread waits for what it has forked: unrelated jobs that want them don't get in the way.

use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use brigade::{Pool, join, scope};
use brigade_testkit::{Gate, spin_for, test};

use super::pools::for_every_pool;
use crate::support::busy::held;

/// Waits for jobs that others may run.
fn wait_in_every_way() {
    let some = || spin_for(Duration::from_micros(20));
    join(some, || join(some, some));
    scope(|s| (0..4).for_each(|_| s.execute(some)));
    join(some, || scope(|s| s.submit(some).join().unwrap()));
}

#[test(for_every_pool)]
fn a_lock_may_be_held_beside_unrelated_jobs(pool: &Pool) {
    let lock = Arc::new(RwLock::new(0));
    let jobs: Vec<_> = (0..40)
        .map(|number| {
            let lock = lock.clone();
            let job = move || match number % 4 {
                0 => *lock.write().unwrap() += 1,
                1 => {
                    let held = lock.read().unwrap();
                    wait_in_every_way();
                    drop(held);
                }
                2 => {
                    let mut held = lock.write().unwrap();
                    wait_in_every_way();
                    *held += 1;
                }
                _ => drop(lock.read().unwrap()),
            };
            pool.handle().job().when_full(brigade::WhenFull::Block).submit(job).unwrap()
        })
        .collect();
    jobs.into_iter().for_each(|job| job.join().unwrap());
    assert_eq!(*lock.read().unwrap(), 20);
}

/// Faults 41 and 42, where a job that wants the lock is of the same scope as the one that waits with it.
#[test(for_every_pool)]
fn a_scope_may_hold_a_lock_its_siblings_want(pool: &Pool) {
    let (lock, table) = (Mutex::new(0), RwLock::new(0));
    pool.scope(|s| {
        for number in 0..40 {
            let (lock, table) = (&lock, &table);
            s.execute(move || match number % 4 {
                0 => {
                    let mut held = lock.lock().unwrap();
                    wait_in_every_way();
                    *held += 1;
                }
                1 => {
                    let held = table.read().unwrap();
                    wait_in_every_way();
                    drop(held);
                }
                2 => *table.write().unwrap() += 1,
                _ => *lock.lock().unwrap() += 1,
            });
        }
        let held = lock.lock().unwrap();
        wait_in_every_way();
        drop(held);
    })
    .unwrap();
    assert_eq!((lock.into_inner().unwrap(), table.into_inner().unwrap()), (20, 10));
}

/// A thief that takes several jobs of a scope at once leaves the forks among them: behind those jobs, the thread that waits for
/// such a fork could not take it back.
#[test(spare in [0, 2])]
fn a_fork_is_not_stolen_with_outer_scopes_jobs(spare: usize) {
    let pool = Pool::builder().threads(2).spare_threads(spare).build().unwrap();
    let (lock, forked, wanted) = (Mutex::new(()), Gate::closed(), Gate::closed());
    drop(held(&pool, &forked));
    let wants = || {
        wanted.open();
        drop(lock.lock().unwrap());
    };
    pool.scope(|s| {
        let guard = lock.lock().unwrap();
        (0..2).for_each(|_| s.execute(wants));
        // Five are on the deque when the thief comes, which takes three of them at most.
        let wait = || {
            forked.open();
            wanted.wait();
        };
        join(|| join(|| join(wait, || ()), || ()), || ());
        drop(guard);
    })
    .unwrap();
}

/// A worker has a job of one scope on its deque and then some of another, and a thief comes. The thread that waits for the first
/// scope runs none of the second, although the thief may have taken both.
#[test]
fn stolen_jobs_of_two_scopes_stay_apart() {
    for _ in 0..50 {
        let pool = Pool::new(3);
        let lock = Arc::new(Mutex::new(()));
        let (added, begun) = (Gate::closed(), Gate::closed());
        drop(held(&pool, &added));
        let unrelated = || {
            let (lock, added) = (lock.clone(), added.clone());
            move || {
                scope(|s| {
                    (0..4).for_each(|_| s.execute(|| drop(lock.lock().unwrap())));
                    added.open();
                });
            }
        };
        let long = || {
            begun.open();
            spin_for(Duration::from_millis(1));
        };
        pool.install(|| {
            let guard = lock.lock().unwrap();
            scope(|s| {
                s.execute_with(|s| {
                    s.execute(long);
                    // Run by this worker before what is on its deque.
                    brigade::execute(unrelated());
                });
                begun.wait();
            });
            drop(guard);
        })
        .unwrap();
    }
}
