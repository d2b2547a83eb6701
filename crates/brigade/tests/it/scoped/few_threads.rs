//! Waits that need more threads than the pool may have must end without them.

use std::io::Error;
use std::thread;
use std::time::Duration;

use super::pools::join_stolen;
use brigade::time::sleep;
use brigade::{Handle, JoinError, Pool, scope};
use brigade_testkit::{Latch, test};

/// A pool that may never have a second thread.
fn single() -> Pool {
    Pool::builder().threads(1).spare_threads(0).build().unwrap()
}

#[test]
fn the_only_thread_runs_its_scopes_futures() {
    let (pool, word) = (single(), String::from("borrowed"));
    let letters = pool.scope(|s| s.spawn(async { word.len() }).join().unwrap()).unwrap();
    assert_eq!(letters, 8);
    let letters = pool.scope(|s| {
        let slow = async {
            sleep(Duration::from_millis(1)).await;
            word.len()
        };
        s.spawn(slow).join().unwrap()
    });
    assert_eq!(letters.unwrap(), 8);
    pool.scope(|s| drop(s.spawn(async { word.len() }))).unwrap();
}

/// Caught: the caller's other pool was current there.
#[test]
fn the_caller_runs_a_job_no_thread_can_run() {
    let pool =
        Pool::builder().threads(0..=1).spawner(|_| Err(Error::other("no thread"))).build().unwrap();
    let (other, mut seen) = (Pool::new(1), None);
    let here = || Some((Handle::current(), thread::current().id()));
    other.enter(|| pool.in_place_scope(|s| s.execute(|| seen = here()))).unwrap();
    assert_eq!(seen, Some((Some(pool.handle()), thread::current().id())));
}

#[test]
fn the_only_thread_runs_foreign_jobs_of_its_scope() {
    let (pool, mut sum) = (single(), 0);
    let add = &mut sum;
    pool.scope(|s| thread::scope(|t| _ = t.spawn(|| s.execute(|| *add += 1)))).unwrap();
    assert_eq!(sum, 1);
}

#[test]
fn the_only_thread_ends_a_cancelled_scope() {
    let (pool, words) = (single(), vec!["never", "counted"]);
    let cancelled = pool.scope(|s| {
        let job = s.submit(|| words.len());
        s.execute(|| _ = words.len());
        let future = s.spawn(async { words.len() });
        s.cancel();
        [job, future].map(|handle| handle.join().unwrap_err().is_cancelled())
    });
    assert_eq!(cancelled.unwrap(), [true, true]);
}

/// What a future waits for can't be told: here it is a job that is no part of the scope, by its handle or by what it opens.
#[test]
fn the_only_thread_runs_jobs_its_futures_await() {
    let (pool, word) = (single(), String::from("borrowed"));
    let awaited = pool.scope(|s| {
        let awaits = async { brigade::submit(|| 42).await.unwrap() + word.len() };
        s.spawn(awaits).join().unwrap()
    });
    assert_eq!(awaited.unwrap(), 50);
    let latch = Latch::default();
    pool.scope(|s| {
        let opens = latch.clone();
        // Drained by nothing else: the thread is the only one, and it is here.
        brigade::execute(move || opens.open());
        drop(s.spawn(async { latch.wait().await }));
    })
    .unwrap();
}

/// The thief waits for a future that is queued, and the thread that forked waits for the thief. The last one to wait runs it, or its
/// wait is an error.
#[test]
fn the_last_of_two_waiting_threads_runs_the_future() {
    let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
    for _ in 0..50 {
        let awaits = || brigade::spawn(async { 42 }).join();
        match pool.install(|| join_stolen(|| (), awaits)).unwrap().1 {
            Ok(number) => assert_eq!(number, 42),
            Err(error) => assert!(matches!(error, JoinError::WouldDeadlock), "{error}"),
        }
    }
}

fn futures_within_futures(depth: u32) -> u32 {
    match depth {
        0 => 0,
        _ => {
            scope(|s| s.spawn(async move { 1 + futures_within_futures(depth - 1) }).join().unwrap())
        }
    }
}

#[test(threads in [1, 2, 8])]
fn scopes_in_futures_nest_beyond_the_threads(threads: usize) {
    let pool = Pool::new(threads);
    assert_eq!(pool.install(|| futures_within_futures(20)).unwrap(), 20);
}

fn jobs_within_jobs(depth: u32) -> u32 {
    let mut below = 0;
    if depth > 0 {
        scope(|s| s.execute(|| below = 1 + jobs_within_jobs(depth - 1)));
    }
    below
}

#[test]
fn scopes_in_jobs_nest_beyond_the_wait_depth() {
    // Beside computing threads it takes two hundred times as long: each level is handed over to another thread.
    for threads in [1, 2, 8] {
        for spare in [0, 1] {
            let pool = Pool::builder().threads(threads).spare_threads(spare).build().unwrap();
            assert_eq!(pool.install(|| jobs_within_jobs(300)).unwrap(), 300);
        }
    }
}

fn installs(pools: [&Pool; 2], depth: u32) -> u32 {
    match depth {
        0 => 0,
        _ => 1 + pools[0].install(|| installs([pools[1], pools[0]], depth - 1)).unwrap(),
    }
}

/// Fault 43.
#[test(threads in [1, 2, 8])]
fn two_small_pools_install_into_each_other(threads: usize) {
    let (one, other) = (Pool::new(threads), Pool::new(threads));
    for depth in 1..=4 {
        assert_eq!(installs([&one, &other], depth), depth, "depth {depth}");
    }
}
