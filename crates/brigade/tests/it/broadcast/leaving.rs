//! Workers that leave, and others that come, while broadcasts are sent: each share has an outcome.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::{await_idle_workers, for_both_queueings};
use crate::support::full::at_rest;
use crate::support::staging::running;
use brigade::{Builder, JoinHandle, Pool};
use brigade_testkit::{Gate, test};

/// Joins all of them; each must say the index at its place, in order.
fn check(shares: Vec<JoinHandle<usize>>) -> usize {
    assert!(!shares.is_empty());
    let indices: Vec<_> = shares.into_iter().map(|share| share.join().unwrap()).collect();
    assert!(indices.is_sorted_by(|one, next| one < next), "{indices:?}");
    indices.len()
}

/// Broadcasts from several threads, beside jobs that make the pool grow, while idle threads end at once.
fn elastic(builder: Builder, core: usize, keep_alive: Duration) {
    let pool = builder.threads(core..=6).keep_alive(keep_alive).build().unwrap();
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..400 {
                    for _ in 0..n % 7 {
                        pool.execute(|| ());
                    }
                    let reached = check(pool.broadcast(|index| index));
                    assert!((core.max(1)..=6).contains(&reached));
                    sent.fetch_add(reached + n % 7, Ordering::Relaxed);
                }
            });
        }
    });
    let all = sent.into_inner() as u64;
    assert_eq!(at_rest(&pool), [all, all, 0, 0, 0]);
    await_idle_workers(&pool, core);
}

#[test(120, core in [1, 0], keep_alive in [Duration::ZERO, Duration::from_micros(50)])]
fn each_share_ends_in_a_shrinking_pool(core: usize, keep_alive: Duration) {
    for_both_queueings(|builder| elastic(builder, core, keep_alive));
}

/// It must leave, as the pool has become smaller, and has mail.
///
/// Caught: `leave_if_surplus` without a look at the mailbox.
#[test(for_both_queueings)]
fn a_surplus_thread_runs_its_share_first(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let (_, gate) = running(&pool, 4);
    let shares = pool.broadcast(|index| index);
    pool.resize(1).unwrap();
    gate.open();
    assert_eq!(check(shares), 4);
    await_idle_workers(&pool, 1);
    assert_eq!(check(pool.broadcast(|index| index)), 1);
}

/// A thread that has left, and is still in its last hook, is none of the pool's.
///
/// Caught: a share for each index in use.
#[test]
fn a_thread_in_its_stop_hook_gets_no_share() {
    let gate = Gate::closed();
    let wait = gate.clone();
    let builder = Pool::builder().threads(1..=3).keep_alive(Duration::ZERO);
    let pool = builder.on_stop(move |_| wait.wait()).build().unwrap();
    running(&pool, 3).1.open();
    await_idle_workers(&pool, 1);
    assert_eq!(check(pool.broadcast(|index| index)), 1);
    gate.open();
}

/// The one that blocks has its share when it is back.
#[test(for_both_queueings)]
fn a_blocked_thread_and_its_replacement_get_a_share(builder: Builder) {
    let pool = builder.threads(1).spare_threads(1).build().unwrap();
    let gate = Gate::closed();
    let wait = gate.clone();
    let blocked = pool.submit(move || {
        brigade::blocking(|| wait.wait());
        brigade::current_worker_index().unwrap()
    });
    let other = pool.submit(|| brigade::current_worker_index().unwrap()).join().unwrap();
    let mut shares = pool.broadcast(|index| index);
    assert_eq!(shares.len(), 2);
    assert_eq!(shares.remove(other).join().unwrap(), other);
    assert!(!shares[0].is_finished());
    gate.open();
    assert_eq!(shares.remove(0).join().unwrap(), blocked.join().unwrap());
}
