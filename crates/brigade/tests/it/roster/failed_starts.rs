//! A thread that could not be started once is started later, if a job depends on it.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{io, thread};

use crate::support::crowd::await_idle_workers;
use crate::support::staging::{numbered, refused};
use brigade::{Handle, NewThread, Pool, Shutdown, Thread, block_on, blocking};
use brigade_testkit::{Gate, Halt, Latch, eventually, test};

/// Starts threads, but for some from the second one on, whose starts fail.
fn fails_after_the_first(fails: usize) -> impl Fn(NewThread) -> io::Result<Thread> + 'static {
    numbered(move |number, thread| match (1..=fails).contains(&number) {
        true => refused(),
        false => thread.start(),
    })
}

/// A job that waits for another that only a further thread can run.
type Wait = fn(Handle) -> i32;

const WAITS: [Wait; 4] = [
    |pool| pool.spawn(ready(7)).join().unwrap(),
    |pool| block_on(pool.spawn(ready(7))).unwrap(),
    |pool| {
        let (told, tells) = mpsc::channel();
        pool.execute(move || told.send(7).unwrap());
        blocking(|| tells.recv().unwrap())
    },
    |pool| {
        let (told, tells) = mpsc::channel();
        let due = Duration::from_millis(20);
        let timer = pool.job().after(due).execute(move || told.send(7).unwrap()).unwrap();
        let seven = blocking(|| tells.recv().unwrap());
        drop(timer);
        seven
    },
];

#[test(fails in [1, 2, 5, 8], wait in WAITS)]
fn a_blocked_job_goes_on_after_a_failed_start(fails: usize, wait: Wait) {
    let builder = Pool::builder().threads(1).spare_threads(8);
    let pool = builder.spawner(fails_after_the_first(fails)).build().unwrap();
    let handle = pool.handle();
    assert_eq!(pool.submit(move || wait(handle)).join().unwrap(), 7);
}

/// Caught: the start failed before the future was queued, and was not retried afterwards.
#[test]
fn a_woken_future_is_polled_despite_a_failed_start() {
    let builder = Pool::builder().threads(0..=1).keep_alive(Duration::ZERO);
    let pool = builder.spawner(fails_after_the_first(1)).build().unwrap();
    let latch = Latch::default();
    let opens = latch.wait();
    let mut future = pool.spawn(async {
        opens.await;
        7
    });
    eventually("it waits", || latch.waiting() == 1);
    await_idle_workers(&pool, 0);
    latch.open();
    let outcome = future.join_timeout(Duration::from_secs(10));
    assert_eq!(outcome.expect("it has been polled").unwrap(), 7);
}

/// A thread that never starts is as good as one whose start fails.
#[test]
fn a_spawner_starting_another_thread_strands_no_job() {
    let kept = Mutex::new(None);
    let spawner = numbered(move |number, new| match number {
        0 => {
            *kept.lock().unwrap() = Some(new);
            refused()
        }
        1 => {
            drop(new);
            kept.lock().unwrap().take().unwrap().start()
        }
        _ => new.start(),
    });
    let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
    let handle = pool.handle();
    let job = loop {
        // The first two starts fail. What is accepted all the same has an outcome.
        if let Ok(job) = handle.try_submit(|| 7) {
            break job;
        }
    };
    assert_eq!(job.join().unwrap(), 7);
    assert_eq!(pool.shutdown(Shutdown::Drain).still_running, 0);
}

/// The job that waits counted on a thread that another was just starting.
#[test]
fn a_start_failing_after_the_block_releases_the_job() {
    let (works, start) = (Arc::new(AtomicBool::new(false)), Halt::default());
    let (now_works, halts) = (works.clone(), start.clone());
    let spawner = numbered(move |number, thread| {
        if number == 0 || works.load(Ordering::SeqCst) {
            return thread.start();
        }
        halts.here();
        refused()
    });
    let builder = Pool::builder().threads(1..=2).spare_threads(0).spawner(spawner);
    let pool = builder.build().unwrap();
    // Otherwise this submission would start a thread, too.
    eventually("the first thread is idle", || pool.metrics().idle_threads == 1);
    let (handle, begin) = (pool.handle(), Gate::closed());
    let begins = begin.clone();
    let waits = pool.submit(move || {
        begins.wait();
        // It runs no closure itself.
        block_on(handle.submit(|| 7)).unwrap()
    });
    eventually("it runs", || pool.metrics().running == 1);
    let submits = pool.handle();
    let submits = thread::spawn(move || submits.execute(|| ()));
    start.await_thread();
    begin.open();
    eventually("it has spawned what it waits for", || pool.metrics().queued == 2);
    // All that the submission tries.
    start.release();
    submits.join().unwrap();
    now_works.store(true, Ordering::SeqCst);
    assert_eq!(waits.join().unwrap(), 7);
}
