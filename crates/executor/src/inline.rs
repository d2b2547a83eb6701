//! The executor that runs jobs at once.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};

use crate::executor::{Executor, Job};

/// Runs jobs on the calling thread, before [`execute`](crate::ExecutorExt::execute) returns.
///
/// For tests, for programs with one thread, and where a library asks for an executor but would gain nothing from threads.
///
/// A job submitted by a job runs after the submitting job has ended, and `execute` returns at once in this case: jobs never
/// nest, however many of them submit others. They run in the order in which they were submitted, on each thread by itself.
///
/// # Panics
/// If a job panics, the others run all the same, and the outermost `execute` resumes the first panic after the last of them.
///
/// # Examples
/// ```
/// use brigade_executor::{ExecutorExt, Inline};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// static RAN: AtomicU32 = AtomicU32::new(0);
///
/// /// Counts down, a job for each step.
/// fn count(left: u32) {
///     RAN.fetch_add(1, Ordering::Relaxed);
///     if left > 0 {
///         Inline.execute(move || count(left - 1));
///     }
/// }
///
/// Inline.execute(|| count(1_000_000)); // The stack does not grow.
/// assert_eq!(RAN.load(Ordering::Relaxed), 1_000_001);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inline;

thread_local! {
    /// The jobs submitted by jobs of this thread.
    static QUEUE: RefCell<VecDeque<Job>> = const { RefCell::new(VecDeque::new()) };
    /// Whether this thread runs a job. It has no destructor, so it can be read while the thread ends.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

impl Executor for Inline {
    fn accept(&self, job: Job) -> Result<(), Job> {
        if !RUNS.get() {
            run(job);
            return Ok(());
        }
        let mut job = Some(job);
        // It fails in the destructors of the thread's locals: the queue may be gone.
        let queued = QUEUE.try_with(|queue| queue.borrow_mut().extend(job.take()));
        match (queued, job) {
            (Err(_), Some(job)) => Err(job),
            _ => Ok(()),
        }
    }

    fn accept_closure<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Job> {
        if RUNS.get() {
            return self.accept(Box::new(job));
        }
        run(job);
        Ok(())
    }
}

/// Room kept by the queue of a thread, in jobs.
const KEPT: usize = 64;

/// Runs a job, then the jobs it has submitted, and so on.
fn run(job: impl FnOnce()) {
    RUNS.set(true);
    let mut first = panic::catch_unwind(AssertUnwindSafe(job)).err();
    // No queue, no job: see `accept`.
    while let Some(job) = QUEUE.try_with(|queue| queue.borrow_mut().pop_front()).ok().flatten() {
        if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(job)) {
            match first {
                None => first = Some(panic),
                // The drop of a payload may panic too.
                Some(_) => std::mem::forget(panic),
            }
        }
    }
    // The growth by a burst of jobs is given back.
    let _ = QUEUE.try_with(|queue| queue.borrow_mut().shrink_to(KEPT));
    RUNS.set(false);
    if let Some(panic) = first {
        panic::resume_unwind(panic);
    }
}
