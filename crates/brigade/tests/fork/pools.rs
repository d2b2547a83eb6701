//! Pools of the parent and of the child.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use brigade::{Cause, Handle, JoinError, Pool, Reason, Rejected};

/// A pool that has all its threads. While the standard library starts one it holds a lock, and a child that is forked then
/// can start none itself.
pub(crate) fn ready(threads: usize) -> Pool {
    let pool = Pool::builder().threads(threads).prestart(threads).build().unwrap();
    await_threads(&pool);
    pool
}

/// Waits until all threads of a pool have started and sleep: `wait_idle` does not wait for those that are just starting.
pub(crate) fn await_threads(pool: &Pool) {
    while pool.metrics().idle_threads < *pool.size().end() {
        std::thread::yield_now();
    }
}

/// Keeps every worker busy until the sender is dropped.
pub(crate) fn occupy(pool: &Pool) -> Sender<()> {
    let (started, starts) = mpsc::channel();
    let (go, gone): (_, Receiver<()>) = mpsc::channel();
    let gone = Arc::new(Mutex::new(gone));
    for _ in 0..*pool.size().end() {
        let (started, gone) = (started.clone(), Arc::clone(&gone));
        pool.execute(move || {
            started.send(()).unwrap();
            let _ = gone.lock().unwrap().recv();
        });
    }
    (0..*pool.size().end()).for_each(|_| starts.recv().unwrap());
    go
}

pub(crate) fn is_forked<T, F>(result: Result<T, Rejected<F>>) -> bool {
    result.is_err_and(|rejected| rejected.reason() == Reason::Forked)
}

pub(crate) fn is_cancelled<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Cancelled(Cause::Ended)))
}

/// Whether it panics with a message that says what to do.
pub(crate) fn refuses(call: impl FnOnce()) -> bool {
    let payload = panic::catch_unwind(AssertUnwindSafe(call)).expect_err("it has no thread");
    payload.downcast_ref::<String>().is_some_and(|said| said.contains("make a new pool here"))
}

/// A new pool, and that it works.
pub(crate) fn works(pool: &Pool) -> bool {
    let jobs: Vec<_> = (0..100).map(|n| pool.submit(move || n)).collect();
    let sum: i32 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    let by_handle = pool.handle().submit(|| Handle::current().unwrap());
    sum == 4950
        && by_handle.join().unwrap() == pool.handle()
        && pool.wait_idle()
        && pool.metrics().returned == 101
}

pub(crate) fn works_still(pool: &Pool) -> bool {
    pool.submit(|| 42).join().unwrap() == 42 && pool.wait_idle()
}
