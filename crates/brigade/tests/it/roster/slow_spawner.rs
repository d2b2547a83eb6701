//! A spawner is slow: the thread may work before the spawner returns, or fail long after it was counted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{io, thread};

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::staging::{numbered, refused, running};
use brigade::{Builder, NewThread, Pool, Shutdown, Thread};
use brigade_testkit::{BlockedThread, Gate, Halt, Meeting, eventually, stays, test};

/// A spawner that starts a thread. It returns at once for this many threads, and for the others when a
/// gate has opened.
fn slow_after(quick: usize) -> (impl Fn(NewThread) -> io::Result<Thread> + 'static, Gate) {
    let gate = Gate::closed();
    let until = gate.clone();
    let spawner = numbered(move |number, thread| {
        let started = thread.start();
        if number >= quick {
            until.wait();
        }
        started
    });
    (spawner, gate)
}

/// A job of another thread runs on it in the meantime.
#[test(for_both_queueings)]
fn shutdown_awaits_a_thread_inside_its_spawner(builder: Builder) {
    let (spawner, returns) = slow_after(0);
    let pool = builder.threads(0..=1).spawner(spawner).build().unwrap();
    let (handle, gate, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
    let first = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    eventually("its thread is being started", || workers(&pool) == 1);
    pool.execute(crowd.job(&gate));
    eventually("it runs a job", || crowd.now() == 1);
    let (closes, owner) = (pool.handle(), BlockedThread::default());
    let (ends, jobs) = (owner.clone(), crowd.clone());
    let opener = thread::spawn(move || {
        eventually("the pool closes", || closes.metrics().is_closed);
        ends.wait_until_blocked();
        gate.open();
        eventually("the job has ended", || jobs.now() == 0);
        ends.wait_until_blocked();
        returns.open();
    });
    owner.is_this();
    let report = pool.shutdown(Shutdown::Drain);
    let running = crowd.now();
    opener.join().unwrap();
    first.join().unwrap();
    assert_eq!((report.still_running, running), (0, 0), "shutdown has not waited: {report:?}");
}

/// Its last hook and its thread-local destructors come after its last job.
#[test(for_both_queueings)]
fn shutdown_awaits_a_hook_inside_its_spawner(builder: Builder) {
    let (spawner, returns) = slow_after(1);
    let stops = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&stops);
    let hook = Halt::default();
    let halts = hook.clone();
    let builder = builder.threads(1..=2).spawner(spawner).on_stop(move |index| {
        if index == 1 {
            halts.here();
        }
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let pool = builder.build().unwrap();
    await_idle_workers(&pool, 1);
    let (handle, (crowd, gate)) = (pool.handle(), running(&pool, 1));
    let job = crowd.job(&gate);
    let submitter = thread::spawn(move || handle.try_execute(job).is_ok());
    eventually("the second thread is busy", || crowd.now() == 2);
    gate.open();
    let owner = BlockedThread::default();
    let ends = owner.clone();
    let opener = thread::spawn(move || {
        hook.await_thread();
        returns.open();
        ends.wait_until_blocked();
        hook.release();
    });
    owner.is_this();
    let report = pool.shutdown(Shutdown::Drain);
    let stopped = stops.load(Ordering::SeqCst);
    opener.join().unwrap();
    assert!(submitter.join().unwrap());
    assert_eq!((report.ran, report.still_running, stopped), (2, 0, 2));
}

/// The owner is a job on a thread that the pool has not registered yet.
#[test]
fn a_job_may_drop_its_pool_inside_its_spawner() {
    for _ in 0..5 {
        let (spawner, returns) = slow_after(1);
        let pool = Pool::builder().threads(1..=2).spawner(spawner).build().unwrap();
        await_idle_workers(&pool, 1);
        let (handle, (_, gate)) = (pool.handle(), running(&pool, 1));
        let (sender, receiver) = mpsc::channel::<Pool>();
        let (told, tells) = mpsc::channel();
        let (open, worker) = (gate.clone(), BlockedThread::default());
        let dropping = worker.clone();
        let submitter = thread::spawn(move || {
            handle.try_execute(move || {
                let pool = receiver.recv().unwrap();
                open.open();
                dropping.is_this();
                drop(pool);
                told.send(()).unwrap();
            })
        });
        sender.send(pool).unwrap();
        // In the middle of the drop, or after it.
        eventually("the pool closes", || handle.metrics().is_closed);
        worker.wait_until_blocked();
        returns.open();
        tells.recv_timeout(Duration::from_secs(10)).expect("drop returns and does not panic");
        assert!(submitter.join().unwrap().is_ok());
    }
}

/// The one that was counted as too many is the one that never came.
#[test]
fn a_failed_start_after_a_resize_costs_no_thread() {
    let second = Halt::default();
    let stops = second.clone();
    let spawner = numbered(move |number, thread| match number {
        0 => thread.start(),
        _ => {
            stops.here();
            refused()
        }
    });
    let pool = Pool::builder().threads(1..=2).spawner(spawner).build().unwrap();
    await_idle_workers(&pool, 1);
    let (handle, (_, busy)) = (pool.handle(), running(&pool, 1));
    let submitter = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    second.await_thread();
    pool.resize(1).unwrap();
    second.release();
    assert!(submitter.join().unwrap());
    busy.open();
    pool.wait_idle();
    stays("the core thread does not leave", || workers(&pool) == 1);
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
fn another_submissions_failed_start_loses_no_job() {
    let (lose, lost) = mpsc::channel();
    let [is_lost, is_asked, is_over] = [(); 3].map(|()| Gate::closed());
    let (asked, over) = (is_asked.clone(), is_over.clone());
    let spawner = numbered(move |number, thread| match number {
        0 => {
            lose.send(thread).unwrap();
            Ok(Thread::not_joined())
        }
        1 => {
            asked.open();
            over.wait();
            refused()
        }
        _ => thread.start(),
    });
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

#[test]
fn two_first_jobs_run_at_once_on_swapped_threads() {
    let (spawner, returns) = slow_after(0);
    let pool = Pool::builder().threads(0..=2).spawner(spawner).build().unwrap();
    let (handle, meeting) = (pool.handle(), Meeting::of(2));
    let first = meeting.job();
    let submitter = thread::spawn(move || handle.submit(first).join().unwrap());
    eventually("its thread is there and idle", || pool.metrics().idle_threads == 1);
    let other = meeting.job();
    let second = pool.submit(move || {
        returns.open();
        other()
    });
    assert!(second.join().unwrap() && submitter.join().unwrap(), "one waits for the other's end");
}

#[test]
fn shutdown_awaits_a_thread_being_named() {
    let start = Halt::default();
    let halts = start.clone();
    let over = Arc::new(AtomicBool::new(false));
    let (late, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_over, was_late, stops) = (Arc::clone(&over), Arc::clone(&late), Arc::clone(&stopped));
    let builder = Pool::builder().threads(0..=1).name(move |_| {
        halts.here();
        "late".into()
    });
    let builder = builder
        .on_start(move |_| was_late.store(is_over.load(Ordering::SeqCst), Ordering::SeqCst))
        .on_stop(move |_| stops.store(true, Ordering::SeqCst));
    let pool = builder.build().unwrap();
    let handle = pool.handle();
    let submitter = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    start.await_thread();
    let owner = BlockedThread::default();
    let ends = owner.clone();
    let opener = thread::spawn(move || {
        ends.wait_until_blocked();
        start.release();
    });
    owner.is_this();
    pool.shutdown(Shutdown::Drain);
    over.store(true, Ordering::SeqCst);
    opener.join().unwrap();
    submitter.join().unwrap();
    eventually("the thread has ended", || stopped.load(Ordering::SeqCst));
    assert!(!late.load(Ordering::SeqCst), "a thread began its life after the shutdown");
}

#[test]
fn a_shutdowns_timeout_covers_a_spawner() {
    let (spawner, returns) = slow_after(0);
    let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
    let handle = pool.handle();
    let submitter = thread::spawn(move || handle.try_execute(|| ()).is_ok());
    eventually("its thread is there and idle", || pool.metrics().idle_threads == 1);
    pool.shutdown(Shutdown::Drain.timeout(Duration::from_millis(20)));
    assert!(!returns.is_open(), "it has waited for the spawner");
    returns.open();
    submitter.join().unwrap();
}
