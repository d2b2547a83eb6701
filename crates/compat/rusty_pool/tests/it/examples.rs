//! The programs of rusty_pool's front page, as users write them; what sleeps there for seconds waits for events here.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use brigade_testkit::{Gate, test};
use rusty_pool::{Builder, ThreadPool};

use crate::occupy;

async fn sum(x: i32, y: i32) -> i32 {
    x + y
}

async fn difference(x: i32, y: i32) -> i32 {
    x - y
}

#[test]
fn pools_are_made_in_four_ways() {
    let pools = [
        ThreadPool::default(),
        ThreadPool::new(5, 50, Duration::from_secs(60)),
        ThreadPool::new_named(String::from("my_pool"), 5, 50, Duration::from_secs(60)),
        Builder::new().core_size(5).max_size(50).build(),
    ];
    for pool in pools {
        assert_eq!(pool.evaluate(|| 4).await_complete(), 4);
    }
}

#[test]
fn a_future_is_completed_by_a_thread() {
    let pool = ThreadPool::default();
    let handle = pool.complete(async {
        let a = sum(4, 6).await;
        let b = sum(a, 3).await;
        let c = difference(b, a).await;
        sum(c, 5).await
    });
    assert_eq!(handle.await_complete(), 8);
}

#[cfg(feature = "async")]
#[test]
fn a_future_is_spawned_and_the_pool_joined() {
    let pool = ThreadPool::default();
    let count = Arc::new(AtomicI32::new(0));
    let counted = count.clone();
    pool.spawn(async move {
        let a = sum(3, 6).await;
        let b = difference(a, 4).await;
        counted.fetch_add(sum(b, 7).await, Ordering::SeqCst);
    });
    pool.join();
    assert_eq!(count.load(Ordering::SeqCst), 12);
}

#[test]
fn a_pool_is_joined_for_a_time_and_shut_down() {
    let (pool, gate) = (ThreadPool::default(), Gate::closed());
    occupy(&pool, 1, &gate);
    pool.join_timeout(Duration::from_millis(5));
    let count = Arc::new(AtomicI32::new(0));
    for _ in 0..15 {
        let (count, gate) = (count.clone(), gate.clone());
        pool.execute(move || {
            gate.wait();
            count.fetch_add(1, Ordering::SeqCst);
        });
    }
    let opens = std::thread::spawn(move || gate.open());
    pool.shutdown_join();
    assert_eq!(count.load(Ordering::SeqCst), 15);
    opens.join().unwrap();
}
