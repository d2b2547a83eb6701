//! Starts a target, lets it become idle before anything is timed, and ends it.

use std::any::Any;
use std::future::Future;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::failure::Failure;
use crate::tally::Tally;
use crate::target::pool::{Running, Submit};
use crate::target::runtime::Runtime;

/// Starts a target of this size, and contains a panic of it.
pub(crate) fn started<N, T>(start: impl FnOnce(N) -> io::Result<T>, size: N) -> Result<T, Failure> {
    // Half of the peers panic if a thread can't be started.
    panic::catch_unwind(AssertUnwindSafe(|| start(size)))
        .unwrap_or_else(|panic| Err(io::Error::other(words(&*panic))))
        .map_err(Failure::Refused)
}

/// Starts a thread of a workload. The closure is on the heap, so a start is compiled once for each result.
pub(crate) fn on_thread<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let job: Box<dyn FnOnce() -> T + Send> = Box::new(job);
    thread::spawn(job)
}

/// The result of a thread of a workload; a panic continues here.
pub(crate) fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause))
}

/// The message of a panic, if it is a text.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
}

/// Jobs per thread in a fresh pool before it is measured.
const WARM_UP_JOBS: usize = 4;
/// Time for the threads to start up and to fall asleep.
pub(crate) const SETTLE: Duration = Duration::from_millis(3);

/// Lets a fresh pool run a few jobs, so no run measures the start of threads.
pub(crate) fn warm(
    pool: &Running<impl Submit, impl Submit>,
    threads: usize,
    tally: &Tally,
) -> Result<(), Failure> {
    let left = Arc::new(AtomicUsize::new(threads * WARM_UP_JOBS));
    let outside = pool.outside.clone();
    for _ in 0..threads * WARM_UP_JOBS {
        let left = Arc::clone(&left);
        outside.submit(move || {
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    while left.load(Ordering::Relaxed) > 0 {
        tally.go_on()?;
        thread::sleep(SETTLE / 10);
    }
    thread::sleep(SETTLE);
    Ok(())
}

/// Keeps all threads of a runtime busy at once, for runtimes whose threads start with the first task.
pub(crate) fn occupy<R: Runtime>(runtime: &R, threads: usize) -> io::Result<()> {
    let tasks = 0..threads * WARM_UP_JOBS;
    let tasks = tasks.map(|_| runtime.spawn(async { thread::sleep(SETTLE) }));
    runtime.block_on(all(tasks))
}

/// Waits for all of these, once all of them are spawned.
pub(crate) async fn all<T: Future>(tasks: impl Iterator<Item = io::Result<T>>) -> io::Result<()> {
    for task in tasks.collect::<io::Result<Vec<_>>>()? {
        task.await;
    }
    Ok(())
}

/// Time in which a pool without a wait for its threads may run repeated tasks.
const AFTERMATH: Duration = Duration::from_millis(1);

/// Ends the pool.
pub(crate) fn end(pool: Running<impl Submit, impl Submit>) {
    pool.shutdown();
    thread::sleep(AFTERMATH);
}
