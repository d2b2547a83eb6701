//! A spawner is slow: the thread may work before the spawner returns, or fail long after it was counted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use brigade::{NewThread, Pool, Shutdown, Thread};
use brigade_testkit::{Gate, Watchdog, eventually};

/// A spawner that starts a thread. It returns at once for this many threads, and for the others when a
/// gate has opened.
fn slow_after(quick: usize) -> (impl Fn(NewThread) -> io::Result<Thread> + 'static, Gate) {
    let (asked, gate) = (AtomicUsize::new(0), Gate::closed());
    let until = gate.clone();
    let spawner = move |thread: NewThread| {
        let started = thread.start();
        if asked.fetch_add(1, Ordering::SeqCst) >= quick {
            until.wait();
        }
        started
    };
    (spawner, gate)
}

/// A job of another thread runs on it in the meantime.
#[test]
fn shutdown_waits_for_the_only_thread_although_its_spawner_has_not_returned() {
    let _dog = Watchdog::start(30);
    for_both_queueings(|builder| {
        let (spawner, returns) = slow_after(0);
        let pool = builder.threads(0..=1).spawner(spawner).build().unwrap();
        let (handle, gate, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
        let first = thread::spawn(move || handle.try_execute(|| ()).is_ok());
        eventually("its thread is being started", || workers(&pool) == 1);
        pool.execute(crowd.job(&gate));
        eventually("it runs a job", || crowd.now() == 1);
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            gate.open();
            thread::sleep(Duration::from_millis(50));
            returns.open();
        });
        let report = pool.shutdown(Shutdown::Drain);
        let running = crowd.now();
        opener.join().unwrap();
        first.join().unwrap();
        assert_eq!((report.still_running, running), (0, 0), "shutdown has not waited: {report:?}");
    });
}

/// Its last hook and its thread-local destructors come after its last job.
#[test]
fn shutdown_waits_for_the_hook_of_a_thread_whose_spawner_has_not_returned() {
    let _dog = Watchdog::start(30);
    for_both_queueings(|builder| {
        let (spawner, returns) = slow_after(1);
        let stops = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&stops);
        let builder = builder.threads(1..=2).spawner(spawner).on_stop(move |index| {
            thread::sleep(Duration::from_millis(if index == 1 { 100 } else { 0 }));
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let pool = builder.build().unwrap();
        await_idle_workers(&pool, 1);
        let (handle, gate, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
        pool.execute(crowd.job(&gate));
        eventually("the first thread is busy", || crowd.now() == 1);
        let job = crowd.job(&gate);
        let submitter = thread::spawn(move || handle.try_execute(job).is_ok());
        eventually("the second thread is busy", || crowd.now() == 2);
        gate.open();
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            returns.open();
        });
        let report = pool.shutdown(Shutdown::Drain);
        let stopped = stops.load(Ordering::SeqCst);
        opener.join().unwrap();
        assert!(submitter.join().unwrap());
        assert_eq!((report.ran, report.still_running, stopped), (2, 0, 2));
    });
}

/// The owner is a job on a thread that the pool has not registered yet.
#[test]
fn a_job_may_drop_its_pool_although_the_spawner_of_its_thread_has_not_returned() {
    let _dog = Watchdog::start(30);
    for _ in 0..5 {
        let (spawner, returns) = slow_after(1);
        let pool = Pool::builder().threads(1..=2).spawner(spawner).build().unwrap();
        await_idle_workers(&pool, 1);
        let (handle, gate, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
        pool.execute(crowd.job(&gate));
        eventually("the first thread is busy", || crowd.now() == 1);
        let (sender, receiver) = mpsc::channel::<Pool>();
        let (told, tells) = mpsc::channel();
        let open = gate.clone();
        let submitter = thread::spawn(move || {
            handle.try_execute(move || {
                let pool = receiver.recv().unwrap();
                open.open();
                drop(pool);
                told.send(()).unwrap();
            })
        });
        sender.send(pool).unwrap();
        // In the middle of the drop, or after it.
        thread::sleep(Duration::from_millis(20));
        returns.open();
        tells.recv_timeout(Duration::from_secs(10)).expect("drop returns and does not panic");
        assert!(submitter.join().unwrap().is_ok());
    }
}

/// The one that was counted as too many is the one that never came.
#[test]
fn a_start_that_fails_after_a_resize_does_not_cost_another_thread() {
    let _dog = Watchdog::start(30);
    let (asked, entered, gate) = (AtomicUsize::new(0), Gate::closed(), Gate::closed());
    let (told, until) = (entered.clone(), gate.clone());
    let builder = Pool::builder().threads(1..=2).spawner(move |thread| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            return thread.start();
        }
        told.open();
        until.wait();
        Err(io::Error::other("expected"))
    });
    let pool = builder.build().unwrap();
    await_idle_workers(&pool, 1);
    let (handle, busy, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
    pool.execute(crowd.job(&busy));
    eventually("the first thread is busy", || crowd.now() == 1);
    let submitter = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    entered.wait();
    pool.resize(1).unwrap();
    gate.open();
    assert!(submitter.join().unwrap());
    busy.open();
    pool.wait_idle();
    thread::sleep(Duration::from_millis(20));
    assert_eq!(workers(&pool), 1, "a core thread has left");
}

/// Opens a gate when it is dropped, and waits for another.
struct Meets(Gate, Gate);

impl Drop for Meets {
    fn drop(&mut self) {
        self.0.open();
        self.1.wait();
    }
}

/// The thread of an accepted job is lost while another submission starts one; that fails too. Caught: each relied on the other to try again.
#[test]
fn an_accepted_job_is_run_although_the_start_of_another_submission_fails_beside_its_own() {
    let _dog = Watchdog::start(30);
    let (lose, lost) = mpsc::channel();
    let [is_lost, is_asked, is_over] = [(); 3].map(|()| Gate::closed());
    let (asked, over, calls) = (is_asked.clone(), is_over.clone(), AtomicUsize::new(0));
    let spawner = move |thread: NewThread| match calls.fetch_add(1, Ordering::SeqCst) {
        0 => {
            lose.send(thread).unwrap();
            Ok(Thread::not_joined())
        }
        1 => {
            asked.open();
            over.wait();
            Err(io::Error::other("expected: no thread"))
        }
        _ => thread.start(),
    };
    let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
    let mut job = pool.submit(|| 42);
    // It is dropped when the worker is lost, before the start is tried again.
    let meets = Meets(is_lost.clone(), is_asked);
    pool.job().on_worker(0).execute(move || drop(meets)).unwrap();
    let loser = thread::spawn(move || drop(lost.recv()));
    is_lost.wait();
    let handle = pool.handle();
    let other = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    loser.join().unwrap();
    is_over.open();
    assert!(!other.join().unwrap(), "its thread could not be started");
    assert_eq!(job.join_timeout(Duration::from_secs(20)).map(Result::unwrap), Some(42));
}
