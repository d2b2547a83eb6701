//! Each worker runs its share, and no other one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::join_all;
use crate::support::busy::{occupy, occupy_one};
use crate::support::crowd::{await_idle_workers, for_both_queueings};
use crate::support::full::at_rest;
use crate::support::staging::running;
use brigade::{Builder, JoinHandle, Order, Pool, WhenFull, current_worker_index, spawn_local};
use brigade_testkit::{Bomb, Drops, Gate, eventually, test};

#[test(
    threads in [1, 2, 8],
    order in [Order::Fifo, Order::Lifo],
    for_both_queueings
)]
fn each_thread_runs_it_once_in_index_order(builder: Builder, threads: usize, order: Order) {
    let pool = builder.threads(threads).order(order).build().unwrap();
    for round in 1..=20 {
        let shares = pool.broadcast(|index| (index, current_worker_index()));
        assert!(shares.len() == threads, "also those that had not started");
        let own = |index| (index, Some(index));
        assert!(join_all(shares).into_iter().eq((0..threads).map(own)));
        let ids = join_all(pool.broadcast(|_| thread::current().id()));
        assert_eq!(ids.into_iter().collect::<HashSet<_>>().len(), threads);
        let ran = Arc::new(AtomicUsize::new(0));
        let counted = ran.clone();
        drop(pool.broadcast(move |_| _ = counted.fetch_add(1, Ordering::Relaxed)));
        let all = 3 * round * threads as u64;
        assert_eq!(at_rest(&pool), [all, all, 0, 0, 0]);
        assert_eq!(ran.load(Ordering::Relaxed), threads, "without a handle, too");
    }
}

/// Caught: all shares in the mailbox of one worker.
#[test(threads in [2, 8], for_both_queueings)]
fn a_busy_threads_share_waits_for_the_thread(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    join_all(pool.broadcast(|_| ()));
    let gate = Gate::closed();
    let busy_one = occupy_one(&pool, &gate);
    let mut shares = pool.broadcast(|index| index);
    let waits = shares.remove(busy_one);
    let others = join_all(shares);
    assert!(others.into_iter().eq((0..threads).filter(|&index| index != busy_one)));
    eventually("the others are idle", || pool.metrics().idle_threads == threads - 1);
    assert!(!waits.is_finished());
    assert!(!pool.wait_idle_timeout(std::time::Duration::ZERO));
    gate.open();
    assert_eq!(waits.join().unwrap(), busy_one);
}

/// Asked by the test beside jobs that keep all threads busy, and each other.
#[test(120, threads in [1, 2, 8], for_both_queueings)]
fn concurrent_broadcasts_end_and_counters_add_up(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for n in 0..150 {
                    let handle = pool.handle();
                    let inner = pool.submit(move || handle.broadcast(move |index| index + n));
                    pool.execute(|| ());
                    let shares = join_all(pool.broadcast(|index| index));
                    assert!(shares.into_iter().eq(0..threads));
                    let inner = join_all(inner.join().unwrap());
                    assert!(inner.into_iter().eq(n..n + threads));
                }
            });
        }
    });
    let all = 3 * 150 * (2 + 2 * threads as u64);
    assert_eq!(at_rest(&pool), [all, all, 0, 0, 0]);
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn a_panic_ends_and_reaches_one_share(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    let shares = pool.broadcast(|index| {
        assert!(index != 0, "expected: the first fails");
        index
    });
    let outcomes: Vec<_> = shares.into_iter().map(JoinHandle::join).collect();
    assert_eq!(
        outcomes[0].as_ref().unwrap_err().panic_message(),
        Some("expected: the first fails")
    );
    for (index, outcome) in outcomes.into_iter().enumerate().skip(1) {
        assert_eq!(outcome.unwrap(), index);
    }
    let count = threads as u64;
    assert_eq!(at_rest(&pool), [count, count - 1, 1, 0, 0]);
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn cancelling_one_share_leaves_the_others(builder: Builder, threads: usize) {
    let (pool, gate) = (builder.threads(threads).build().unwrap(), Gate::closed());
    occupy(&pool, &gate);
    let mut shares = pool.broadcast(|index| index);
    let before = pool.metrics();
    let count = threads as u64;
    assert_eq!((before.accepted, before.queued, before.running), (2 * count, count, count));
    let cancelled = shares.pop().unwrap();
    assert!(cancelled.cancel());
    assert!(!cancelled.cancel());
    assert!(cancelled.join().unwrap_err().is_cancelled(), "though all threads are busy");
    gate.open();
    assert!(join_all(shares).into_iter().eq(0..threads - 1));
    assert_eq!(at_rest(&pool), [2 * count, 2 * count - 1, 0, 1, 0]);
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn captures_drop_once_before_the_last_outcome(builder: Builder, threads: usize) {
    let (pool, drops) = (builder.threads(threads).build().unwrap(), Drops::default());
    for round in 1..=20 {
        let (token, gate) = (drops.token(), Gate::closed());
        let wait = gate.clone();
        let shares = pool.broadcast(move |_| {
            let _captured = &token;
            wait.wait();
        });
        assert!(drops.count() == round - 1 && shares.len() == threads);
        gate.open();
        join_all(shares);
        assert_eq!(drops.count(), round);
    }
}

/// Nothing else of the pool suffers.
#[test]
fn panicking_captures_end_one_share() {
    let (pool, gate) = (Pool::new(2), Gate::closed());
    occupy(&pool, &gate);
    let bomb = Bomb;
    let shares = pool.broadcast(move |_| _ = &bomb);
    gate.open();
    let failed = shares.into_iter().filter_map(|share| share.join().err()).count();
    assert_eq!(failed, 1);
    assert_eq!(join_all(pool.broadcast(|index| index)), [0, 1]);
}

#[test(policy in [WhenFull::Reject, WhenFull::Block, WhenFull::DropOldest])]
fn a_broadcast_takes_no_room_in_a_full_pool(policy: WhenFull) {
    let builder = Pool::builder().threads(2).capacity(1).when_full(policy);
    let pool = builder.build().unwrap();
    let (_, gate) = running(&pool, 2);
    let first = pool.broadcast(|index| index);
    pool.try_execute(|| ()).unwrap();
    assert!(pool.try_execute(|| ()).is_err());
    let second = pool.broadcast(|index| index);
    gate.open();
    assert_eq!((join_all(first), join_all(second)), (vec![0, 1], vec![0, 1]));
    assert_eq!(pool.metrics().evicted, 0);
}

/// Beside local futures, which are in the same mailbox.
#[test(threads in [1, 2, 8], for_both_queueings)]
fn shares_and_local_futures_alternate_with_jobs(builder: Builder, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    let locals = pool.broadcast(|index| {
        spawn_local(async move {
            for _ in 0..100 {
                brigade::yield_now().await;
            }
            index
        })
    });
    let stop = Arc::new(AtomicUsize::new(0));
    let endless = Arc::clone(&stop);
    drop(pool.broadcast(move |_| again(&endless)));
    for _ in 0..50 {
        assert!(join_all(pool.broadcast(|index| index)).into_iter().eq(0..threads));
    }
    assert!(join_all(join_all(locals)).into_iter().eq(0..threads));
    stop.store(1, Ordering::Relaxed);
    pool.wait_idle();
    await_idle_workers(&pool, threads);
}

/// Submits itself again until it is told to stop.
fn again(stop: &Arc<AtomicUsize>) {
    if stop.load(Ordering::Relaxed) == 0 {
        let stop = Arc::clone(stop);
        brigade::execute(move || again(&stop));
    }
}
