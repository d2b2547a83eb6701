//! Jobs that wait for shares, of their own worker and of others.

use std::sync::{Arc, Barrier, Mutex, mpsc};

use super::join_all;
use crate::support::busy::occupy_one;
use crate::support::crowd::for_both_queueings;
use brigade::{
    Builder, Handle, JoinError, JoinHandle, Pool, TaskSet, block_on, current_worker_index,
};
use brigade_testkit::{Gate, Halt, Meeting, test};

/// Caught: a share that is run by whichever worker joins it.
#[test(for_both_queueings)]
fn a_join_elsewhere_leaves_the_share_to_its_worker(builder: Builder) {
    let (pool, gate) = (builder.threads(2).build().unwrap(), Gate::closed());
    join_all(pool.broadcast(|_| ()));
    let busy_one = occupy_one(&pool, &gate);
    let mut shares = pool.broadcast(|index| (index, current_worker_index()));
    let share = shares.remove(busy_one);
    let joiner = pool.submit(move || (share.join().unwrap(), current_worker_index()));
    // On the thread that takes the place of the one that waits.
    pool.submit(|| ()).join().unwrap();
    gate.open();
    let (said, joined_on) = joiner.join().unwrap();
    assert_eq!(said, (busy_one, Some(busy_one)));
    assert_ne!(joined_on, Some(busy_one));
}

/// Each of several jobs that run at once, on as many workers, waits for the shares of all others.
fn all_at_once(pool: &Pool, jobs: usize, wait: fn(Handle) -> Vec<usize>) {
    let meeting = Meeting::of(jobs);
    let handle = pool.handle();
    let jobs: Vec<_> = (0..jobs)
        .map(|_| {
            let meeting = meeting.clone();
            pool.submit(move || {
                assert!(meeting.attend());
                wait(handle)
            })
        })
        .collect();
    for job in jobs {
        assert!(job.join().unwrap().is_sorted());
    }
}

/// Caught: waits for shares that do not count as waits for their worker.
#[test(120)]
fn jobs_in_each_others_shares_all_end() {
    let ways: [fn(Handle) -> Vec<usize>; 3] = [
        |pool| join_all(pool.broadcast(|index| index)),
        |pool| {
            let shares = pool.broadcast(|index| index);
            block_on(async {
                let mut indices = Vec::new();
                for share in shares {
                    indices.push(share.await.unwrap());
                }
                indices
            })
        },
        |pool| {
            let shares = pool.broadcast(|index| index);
            let mut set = TaskSet::new(pool);
            set.submit(move || join_all(shares));
            assert!(set.wait_all());
            set.join_next().unwrap().unwrap()
        },
    ];
    for wait in ways {
        for threads in [1, 2, 3, 8] {
            for spare in [0, threads] {
                for_both_queueings(|builder| {
                    let builder = builder.threads(threads).spare_threads(spare);
                    let pool = builder.build().unwrap();
                    for _ in 0..20 {
                        all_at_once(&pool, threads, wait);
                    }
                });
            }
        }
    }
}

/// The worker that is needed began to wait first, and for the job that needs it.
#[test(for_both_queueings)]
fn a_needed_workers_join_runs_the_share(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let handle = pool.handle();
    let outer = pool.submit(move || {
        let halt = Halt::default();
        let stops = halt.clone();
        let inner = handle.submit(move || {
            stops.here();
            // The outer job waits for this one, or is about to.
            join_all(handle.broadcast(|index| (index, current_worker_index())))
        });
        // Another worker has it.
        halt.await_thread();
        halt.release();
        inner.join().unwrap()
    });
    for (place, (index, ran_on)) in outer.join().unwrap().into_iter().enumerate() {
        assert_eq!((index, ran_on), (place, Some(place)));
    }
}

/// Likewise, and the job begins to wait when the other waits for certain.
#[test(spare in [0, 4])]
fn a_share_wakes_its_worker_from_a_join(spare: usize) {
    let pool = Pool::builder().threads(2).spare_threads(spare).build().unwrap();
    let (handle, halt) = (pool.handle(), Halt::default());
    let stops = halt.clone();
    let inner = pool.submit(move || {
        stops.here();
        join_all(handle.broadcast(|index| index))
    });
    halt.await_thread();
    let outer = pool.submit(move || inner.join().unwrap());
    if spare > 0 {
        // On the thread that takes the place of the one that waits.
        pool.submit(|| ()).join().unwrap();
    }
    halt.release();
    assert!(outer.join().unwrap().is_sorted());
}

/// No other thread may run the share of the one that waits.
#[test]
fn fork_and_scope_waits_run_the_workers_share() {
    let ways: [fn(&Gate, Handle) -> Vec<usize>; 2] = [
        |begun, pool| {
            let shares = || {
                begun.open();
                join_all(pool.broadcast(|index| index))
            };
            brigade::join(|| begun.wait(), shares).1
        },
        |begun, pool| {
            let joined = Mutex::new(Vec::new());
            brigade::scope(|scope| {
                scope.execute(|| {
                    begun.open();
                    *joined.lock().unwrap() = join_all(pool.broadcast(|index| index));
                });
                begun.wait();
            });
            joined.into_inner().unwrap()
        },
    ];
    for way in ways {
        for_both_queueings(|builder| {
            let (pool, begun) = (builder.threads(2).build().unwrap(), Gate::closed());
            let handle = pool.handle();
            // The other worker takes the part that joins.
            let job = pool.submit(move || way(&begun, handle));
            assert_eq!(job.join().unwrap(), [0, 1]);
        });
    }
}

/// Each worker runs the shares in the order in which they were sent, also those that it waits for.
#[test]
fn two_broadcast_barriers_meet() {
    let pool = Pool::builder().threads(4).spare_threads(0).prestart(4).build().unwrap();
    let handle = pool.handle();
    for _ in 0..100 {
        let broadcasts = [(); 2].map(|()| {
            handle.submit(move || {
                let barrier = Barrier::new(4);
                let shares = handle.broadcast(move |_| _ = barrier.wait()).into_iter();
                shares.for_each(|share| share.join().unwrap());
            })
        });
        broadcasts.into_iter().for_each(|broadcast| broadcast.join().unwrap());
    }
}

#[test]
fn a_share_joining_itself_gets_an_error() {
    let pool = Pool::new(2);
    let (sender, receiver) = mpsc::channel::<JoinHandle<bool>>();
    let receiver = Mutex::new(receiver);
    let mut shares = pool.broadcast(move |index| {
        index == 0
            && matches!(
                receiver.lock().unwrap().recv().unwrap().join(),
                Err(JoinError::WouldDeadlock)
            )
    });
    let (own, told) = (shares.remove(0), shares.remove(0));
    sender.send(own).unwrap();
    assert!(!told.join().unwrap());
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 2, "and goes on");
}

/// A cycle that no share of a broadcast can end.
#[test]
fn a_join_circle_is_an_error_beside_shares() {
    let pool = Pool::new(2);
    let (handle, shared) = (pool.handle(), Arc::new(Mutex::new(0)));
    let (sender, receiver) = mpsc::channel::<JoinHandle<bool>>();
    let held = Arc::clone(&shared);
    let job = pool.submit(move || {
        let own = receiver.recv().unwrap();
        let lock = held.lock().unwrap();
        let taken = Arc::clone(&held);
        drop(handle.broadcast(move |_| *taken.lock().unwrap() += 1));
        let heard = matches!(own.join(), Err(JoinError::WouldDeadlock));
        drop(lock);
        heard
    });
    sender.send(job).unwrap();
    pool.wait_idle();
    assert_eq!(*shared.lock().unwrap(), 2);
}

/// Of another pool's workers.
#[test]
fn two_pools_wait_for_each_others_broadcasts() {
    let (one, two) = (Pool::new(2), Pool::new(2));
    let (first, second) = (one.handle(), two.handle());
    let meeting = Meeting::of(2);
    let other = meeting.clone();
    let a = one.submit(move || meeting.attend() && join_any(second.broadcast(|_| ())));
    let b = two.submit(move || other.attend() && join_any(first.broadcast(|_| ())));
    // A thread that waits for another pool can't be called: at most one of them hears it.
    let (a, b) = (a.join().unwrap(), b.join().unwrap());
    assert!(a || b);
}

/// Whether none of them would deadlock.
fn join_any(shares: Vec<JoinHandle<()>>) -> bool {
    shares.into_iter().all(|share| share.join().is_ok())
}
