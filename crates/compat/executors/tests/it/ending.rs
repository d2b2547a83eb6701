//! How long a shutdown waits.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::{Gate, eventually, test};
use executors::crossbeam_channel_pool as channel;
use executors::crossbeam_workstealing_pool::small_pool;
use executors::{Executor, threadpool_executor};

use crate::occupy;

/// The original's time for a shutdown.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn a_shutdown_gives_up_after_five_seconds() {
    fn gives_up(pool: impl Executor) {
        let (gate, (told, tells)) = (Gate::closed(), mpsc::channel());
        occupy(&pool, 1, &gate);
        pool.execute(move || told.send(42).unwrap());
        let begun = Instant::now();
        let error = pool.shutdown().unwrap_err();
        assert!(begun.elapsed() >= PATIENCE);
        assert!(error.contains("2 jobs"), "{error}");
        gate.open();
        assert_eq!(tells.recv(), Ok(42));
    }
    thread::scope(|scope| {
        scope.spawn(|| gives_up(small_pool(1)));
        scope.spawn(|| gives_up(channel::ThreadPool::new(1)));
    });
}

#[test]
fn threadpools_shutdown_waits_for_all_jobs() {
    let (pool, gate) = (threadpool_executor::ThreadPoolExecutor::new(1), Gate::closed());
    occupy(&pool, 1, &gate);
    let (begun, clone) = (Instant::now(), pool.clone());
    let waits = thread::spawn(move || clone.shutdown());
    // It is not told when another thread waits, so this one sleeps beyond the time of the others.
    thread::sleep(PATIENCE + Duration::from_millis(100));
    assert!(!waits.is_finished(), "after {:?}", begun.elapsed());
    gate.open();
    assert_eq!(waits.join().unwrap(), Ok(()));
}

#[test]
fn only_a_channel_pool_waits_in_its_drop() {
    let (pool, gate, (told, tells)) = (small_pool(1), Gate::closed(), mpsc::channel());
    occupy(&pool, 1, &gate);
    pool.execute(move || told.send(42).unwrap());
    drop(pool);
    gate.open();
    assert_eq!(tells.recv(), Ok(42));

    let (pool, gate, (told, tells)) =
        (channel::ThreadPool::new(1), Gate::closed(), mpsc::channel());
    occupy(&pool, 1, &gate);
    pool.execute(move || told.send(42).unwrap());
    let (about, drops) = mpsc::channel();
    let dropper = thread::spawn(move || {
        about.send(()).unwrap();
        drop(pool);
        tells.try_recv()
    });
    drops.recv().unwrap();
    gate.open();
    assert_eq!(dropper.join().unwrap(), Ok(42), "it has run by then");
}

#[test]
fn a_pool_after_shutdown_has_no_threads() {
    let (pool, (told, tells)) = (small_pool(2), mpsc::channel());
    pool.execute(move || told.send(brigade::Handle::current().unwrap()).unwrap());
    let handle = tells.recv().unwrap();
    assert_eq!(handle.metrics().threads, 2);
    pool.shutdown_async();
    eventually("its threads end", || handle.metrics().threads == 0);
}
