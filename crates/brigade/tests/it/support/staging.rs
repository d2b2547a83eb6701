//! What tests begin with: pools whose threads are busy or blocked, and threads that can't start.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::crowd::Crowd;
use brigade::{NewThread, Pool, Thread};
use brigade_testkit::{Gate, eventually};

/// Has this many jobs of `pool` run at once, until the gate opens. Each finds no idle thread, as it is submitted when those before it
/// have started.
#[track_caller]
pub(crate) fn running(pool: &Pool, jobs: usize) -> (Crowd, Gate) {
    let (crowd, gate) = (Crowd::default(), Gate::closed());
    for count in 1..=jobs {
        pool.execute(crowd.job(&gate));
        eventually("the job has started", || crowd.now() == count);
    }
    (crowd, gate)
}

/// The same with jobs that block.
#[track_caller]
pub(crate) fn blocked(pool: &Pool, jobs: usize) -> (Crowd, Gate) {
    let (crowd, gate) = (Crowd::default(), Gate::closed());
    for count in 1..=jobs {
        let job = crowd.job(&gate);
        pool.execute(move || brigade::blocking(job));
        eventually("the job is blocked", || crowd.now() == count);
    }
    (crowd, gate)
}

/// A spawner that knows how many threads it has been asked for before.
pub(crate) fn numbered<F>(start: F) -> impl Fn(NewThread) -> io::Result<Thread> + Send + Sync
where
    F: Fn(usize, NewThread) -> io::Result<Thread> + Send + Sync,
{
    let asked = AtomicUsize::new(0);
    move |thread| start(asked.fetch_add(1, Ordering::SeqCst), thread)
}

/// What a spawner returns that can't start a thread.
pub(crate) fn refused() -> io::Result<Thread> {
    Err(io::Error::other("expected: no thread today"))
}
