//! Forks by a job: its child is no worker.

use std::future::poll_fn;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;

use crate::child::{End, await_end, exit_now, fork, fork_here};
use crate::pools::{await_threads, is_forked, occupy, ready, works, works_still};
use brigade::{Handle, Order, Pool, Shutdown, TaskSet};
use brigade_testkit::stays;

/// In a child that was forked by a job: it is on no worker, and its pool is not there.
fn is_no_worker(handle: Handle) -> bool {
    Handle::current().is_none()
        && is_forked(handle.try_execute(|| ()))
        && brigade::blocking(|| is_forked(handle.try_submit(|| ())))
        && works(&Pool::new(1))
}

pub(crate) fn a_job_that_forks_is_no_worker_in_the_child() {
    let pool = ready(1);
    let handle = pool.handle();
    let forks = move || await_end(fork(|| i32::from(!is_no_worker(handle))));
    assert_eq!(pool.submit(forks).join().unwrap(), End::Exit(0));
    let inside = move || brigade::blocking(forks);
    assert_eq!(pool.submit(inside).join().unwrap(), End::Exit(0));
    assert!(works_still(&pool));
}

pub(crate) fn a_job_that_waits_for_one_that_forked_goes_on_in_the_child() {
    let pool = ready(1);
    let outer = pool.submit(move || {
        // No other thread can run it: it forks on this stack.
        let inner = Handle::current().unwrap().submit(fork_here);
        match inner.join() {
            Ok(0) => exit_now(i32::from(Handle::current().is_some())),
            Ok(pid) => await_end(pid),
            Err(error) => panic!("{error}"),
        }
    });
    assert_eq!(outer.join().unwrap(), End::Exit(0));
    assert!(works_still(&pool));
}

/// Queues jobs of which each writes a byte; returns the other end of the socket.
fn queue_writers(pool: &Pool, jobs: usize) -> UnixStream {
    let (reader, writer) = UnixStream::pair().unwrap();
    let writer = Arc::new(writer);
    for _ in 0..jobs {
        let writer = Arc::clone(&writer);
        pool.execute(move || (&*writer).write_all(b".").unwrap());
    }
    reader
}

/// All that has been written to the other end, which must be closed.
pub(crate) fn read_all(mut socket: UnixStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    text
}

/// The jobs queued behind it exist in the child too, and must not be run a second time.
fn return_in_a_child(pool: Pool, end_of_job: fn()) {
    const QUEUED: usize = 200;
    await_threads(&pool);
    let (said, says) = UnixStream::pair().unwrap();
    let (told, tells) = mpsc::channel();
    let busy = occupy(&pool);
    pool.execute(move || {
        // Here the child returns from the job.
        let pid = fork_here();
        if pid == 0 {
            // SAFETY: both are open files.
            unsafe { libc::dup2(says.as_raw_fd(), 2) };
            return end_of_job();
        }
        told.send(pid).unwrap();
    });
    let ran = queue_writers(&pool, QUEUED);
    drop(busy);
    assert_eq!(await_end(tells.recv().unwrap()), End::Signal(libc::SIGABRT));
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, QUEUED as u64 + 2);
    assert_eq!(read_all(ran).len(), QUEUED);
    let message = read_all(said);
    assert!(message.contains("must call exec or _exit"), "{message}");
}

pub(crate) fn a_job_that_returns_in_a_child_it_forked_ends_the_child_with_a_reason() {
    return_in_a_child(ready(1), || ());
}

pub(crate) fn a_job_that_panics_in_a_child_it_forked_ends_the_child_with_a_reason() {
    return_in_a_child(ready(1), || panic!("in the child"));
}

/// A worker that takes what waits outside, before it goes on with its own queue, notices it too.
pub(crate) fn a_job_that_was_taken_out_of_turn_ends_the_child_with_a_reason_when_it_returns() {
    for order in [Order::Lifo, Order::Fifo] {
        let builder = Pool::builder().threads(1).fairness(1).order(order).prestart(1);
        return_in_a_child(builder.build().unwrap(), || ());
    }
}

pub(crate) fn a_start_hook_that_returns_in_a_child_it_forked_ends_the_child_with_a_reason() {
    let (told, tells) = mpsc::channel();
    let hook = move |_| match fork_here() {
        // Its output is not needed.
        // SAFETY: it is an open file, or none, and nothing else uses it here.
        0 => _ = unsafe { libc::close(2) },
        pid => told.send(pid).unwrap(),
    };
    let pool = Pool::builder().threads(1).on_start(hook).prestart(1).build().unwrap();
    assert_eq!(await_end(tells.recv().unwrap()), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}

static RAN: AtomicUsize = AtomicUsize::new(0);

/// The child continues in the job that waits, and runs no other job of the set.
pub(crate) fn a_wait_for_a_set_one_of_whose_jobs_forks_runs_no_other_in_the_child() {
    let pool = ready(1);
    let outer = pool.submit(|| {
        let mut set = TaskSet::new(Handle::current().unwrap());
        // The worker runs them here, in this order.
        set.submit(fork_here);
        for _ in 0..3 {
            let job = || {
                RAN.fetch_add(1, Ordering::SeqCst);
                0
            };
            set.submit(job);
        }
        let parent = process::id();
        set.wait_all();
        if process::id() != parent {
            exit_now(RAN.load(Ordering::SeqCst) as i32);
        }
        let pids = set.outcomes().map(Result::unwrap).filter(|&pid| pid != 0);
        pids.map(await_end).collect::<Vec<_>>()
    });
    assert_eq!(outer.join().unwrap(), [End::Exit(0)]);
    assert_eq!(RAN.load(Ordering::SeqCst), 3);
    assert!(works_still(&pool));
}

/// The child continues to wait, on a thread that is no worker any more.
pub(crate) fn a_future_that_forks_inside_a_wait_has_no_other_job_run_in_the_child() {
    const QUEUED: usize = 20;
    let pool = ready(1);
    let busy = occupy(&pool);
    let waits = pool.submit(|| {
        let (mut polled, parent) = (false, process::id());
        brigade::block_on(poll_fn(move |context| {
            if std::mem::replace(&mut polled, true) {
                exit_now(0);
            }
            match fork_here() {
                0 => {
                    let waker = context.waker().clone();
                    thread::spawn(move || {
                        // Others of the child's threads, if there are any, have time for a job.
                        stays("the child goes on", || process::id() != parent);
                        waker.wake();
                    });
                    Poll::Pending
                }
                pid => Poll::Ready(pid),
            }
        }))
    });
    let ran = queue_writers(&pool, QUEUED);
    drop(busy);
    assert_eq!(await_end(waits.join().unwrap()), End::Exit(0));
    pool.shutdown(Shutdown::Drain);
    assert_eq!(read_all(ran).len(), QUEUED);
}
