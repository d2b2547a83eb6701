//! Timers fire although threads end as soon as they are idle, and the remaining one is blocked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use brigade::{Handle, Pool, Threads, time};
use brigade_testkit::test;

/// How long a job waits for its timer. In a pool that polls no timer it waits forever.
const SHORT: Duration = Duration::from_millis(1);

/// Calls with each kind of pool that has no thread to spare for timers, and a count of the threads it has started.
fn for_each_pool(claim: impl Fn(&Pool, &AtomicUsize)) {
    for range in [0..=1, 0..=2, 0..=3] {
        for keep_alive in [0, 1, 10, 20, 100].map(Duration::from_micros) {
            let started = Arc::new(AtomicUsize::new(0));
            let starts = started.clone();
            let builder = Pool::builder().threads(Threads::from(range.clone()));
            let pool = builder.keep_alive(keep_alive).spawner(move |thread| {
                starts.fetch_add(1, Ordering::Relaxed);
                thread.start()
            });
            claim(&pool.build().unwrap(), &started);
        }
    }
}

#[test(for_each_pool)]
fn a_joined_future_sleeps_as_long_as_asked(pool: &Pool, started: &AtomicUsize) {
    for _ in 0..3 {
        let job = pool.submit(|| {
            let future = brigade::spawn(time::sleep(SHORT));
            future.join()
        });
        assert!(job.join().unwrap().is_ok());
    }
    let started = started.load(Ordering::Relaxed);
    assert!(started < 500, "{started} threads, each of which leaves the timer to the next");
}

#[test(for_each_pool)]
fn a_later_job_runs_beside_a_blocked_one(pool: &Pool, _started: &AtomicUsize) {
    for _ in 0..3 {
        let job = pool.submit(|| {
            let (told, tells) = mpsc::channel();
            let handle = Handle::current().unwrap();
            let timer = handle.job().after(SHORT).execute(move || told.send(()).unwrap()).unwrap();
            brigade::blocking(|| tells.recv().unwrap());
            drop(timer);
        });
        job.join().unwrap();
    }
}
