//! Small programs, one for each fault that random ones have found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use brigade::{NewThread, Pool, Shutdown, Thread};
use brigade_sync::thread::yield_now;
use brigade_sync::{Mutex, time};

/// Each with its name, which says what holds.
pub(crate) const ALL: [(&str, fn()); 4] = [
    ("a drop waits for a thread that is about to be started", drop_beside_a_start),
    ("a shutdown waits for a closure that its handle runs", shutdown_beside_a_handle),
    ("a pool ends although a future always goes on", end_beside_yields),
    ("a job that holds a lock submits to its full pool", full_pool_under_a_lock),
];

fn beside(main: impl FnOnce() + Send + 'static) -> Thread {
    NewThread::new("beside".into(), None, main).start().expect("a thread")
}

fn drop_beside_a_start() {
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = is_over.clone();
    let hook = move |_| assert!(!seen.load(Relaxed), "a thread starts after the drop");
    let pool = Pool::builder().threads(2).lazy().on_start(hook).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || drop(handle.try_execute(|| ())));
    drop(pool);
    is_over.store(true, Relaxed);
    other.join();
}

fn shutdown_beside_a_handle() {
    let pool = Pool::builder().threads(1).caller_participates(false).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || {
        // Rejected, it is not run, or runs there and is not counted.
        _ = handle.in_place_scope(|scope| _ = scope.submit(yield_now).join());
    });
    assert_eq!(pool.shutdown(Shutdown::Finish).still_running, 0);
    other.join();
}

fn end_beside_yields() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(1);
        drop(pool.spawn(async {
            loop {
                brigade::yield_now().await;
            }
        }));
        let mut ticks = brigade::time::interval(Duration::from_millis(1));
        drop(pool.spawn(async move {
            loop {
                ticks.tick().await;
                time::sleep(Duration::from_millis(2));
            }
        }));
        pool.shutdown(how);
    }
}

fn full_pool_under_a_lock() {
    let pool = Pool::builder().threads(2).capacity(1).build().expect("a pool");
    let lock = Arc::new(Mutex::new(0));
    for _ in 0..3 {
        let (handle, lock) = (pool.handle(), lock.clone());
        pool.execute(move || {
            let mut count = lock.lock();
            let lock = lock.clone();
            handle.execute(move || *lock.lock() += 1);
            *count += 1;
        });
    }
    drop(pool);
    assert_eq!(*lock.lock(), 6);
}
