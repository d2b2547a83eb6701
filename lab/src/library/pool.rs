//! A pool of any target, for a closure that submits jobs to it, and every job counted.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use brigade_executor::{Executor, Job};

use crate::clock::{Epoch, seconds};
use crate::failure::Failure;
use crate::fault::Fault;
use crate::setup::words;
use crate::tally::{Sum, Tally};
use crate::target::pool::{Pool, Submit};

/// The longest sleep of the thread that waits before it checks whether the run was given up.
const LOOK: Duration = Duration::from_millis(200);

/// A closure of the user's.
pub(super) type Closure = dyn Fn(&AnyPool) + Send + Sync;

/// A pool that jobs can be submitted to, whichever it is.
///
/// It is an [`Executor`], for libraries that take one. Clones submit to the same pool; a job may have one and submit further jobs.
/// Another thread may submit while the closure, or a job, waits for that thread.
///
/// A job is allocated and called through a pointer, which costs all pools the same: the closures of a program that calls one of them
/// directly may cost less.
pub struct AnyPool {
    /// Submits from a thread that is none of the pool's.
    outside: Box<dyn AnySubmit>,
    /// Submits from a job.
    inside: Box<dyn AnySubmit>,
    /// What is known of the jobs.
    run: &'static Run,
}

impl AnyPool {
    /// This pool, whose jobs belong to this run.
    pub(super) fn new<T: Pool>(pool: &T, run: &'static Run) -> Self {
        AnyPool { outside: Box::new(pool.outside()), inside: Box::new(pool.inside()), run }
    }

    /// Submits a job. It may be dropped if the pool ends before the job starts, which the laboratory notices.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        self.submit(Box::new(job));
    }

    /// Waits until all jobs have run that have been submitted so far, and those that these submit.
    ///
    /// The laboratory does this when the closure has returned.
    ///
    /// # Panics
    /// If it is called by another thread than the one that calls the closure: a job that waited for all would wait for itself.
    pub fn wait(&self) {
        let is_caller = thread::current().id() == self.run.caller.id();
        assert!(is_caller, "only the thread that calls the closure may wait");
        if self.run.wait().is_err() {
            // The laboratory has given this run up; the thread ends without a word.
            panic::resume_unwind(Box::new(()));
        }
    }

    /// Submits a job.
    fn submit(&self, job: Job) {
        let index = self.run.submitted.fetch_add(1, Ordering::Relaxed);
        self.run.pending.fetch_add(1, Ordering::Relaxed);
        let job = Counted { job: Some(job), run: self.run };
        if self.run.fault.copies(index.min(1) as u32) == 0 {
            return mem::forget(job);
        }
        let submit = if IS_JOB.get() { &self.inside } else { &self.outside };
        submit.submit(job);
    }
}

impl Executor for AnyPool {
    fn accept(&self, job: Job) -> Result<(), Job> {
        self.submit(job);
        Ok(())
    }
}

impl Clone for AnyPool {
    fn clone(&self) -> Self {
        AnyPool { outside: self.outside.copy(), inside: self.inside.copy(), run: self.run }
    }
}

impl fmt::Debug for AnyPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyPool").finish_non_exhaustive()
    }
}

/// [`Submit`] as an object.
trait AnySubmit: Send {
    /// See [`Submit::submit`].
    fn submit(&self, job: Counted);

    /// Another one for the same pool.
    fn copy(&self) -> Box<dyn AnySubmit>;
}

impl<S: Submit> AnySubmit for S {
    fn submit(&self, job: Counted) {
        Submit::submit(self, move || job.run());
    }

    fn copy(&self) -> Box<dyn AnySubmit> {
        Box::new(self.clone())
    }
}

thread_local! {
    /// Whether this thread runs a job.
    static IS_JOB: Cell<bool> = const { Cell::new(false) };
}

/// What all jobs of a run share.
pub(super) struct Run {
    /// Counts the jobs.
    tally: &'static Tally,
    /// Jobs that were submitted.
    submitted: AtomicU64,
    /// Jobs that have not ended, and one more unless the caller waits: none is left once only.
    pending: AtomicU64,
    /// When the last one ended, in nanoseconds since the epoch, for the caller that waits.
    ended: AtomicU64,
    /// The origin of `ended`.
    epoch: Epoch,
    /// The thread that calls the closure and waits.
    caller: Thread,
    /// The message of the first job that panicked.
    panic: Mutex<Option<String>>,
    /// The fault to inject.
    fault: Fault,
}

impl Run {
    /// One that this thread makes; leaked, since a lost job may run late.
    pub(super) fn leak(tally: &'static Tally, fault: Fault) -> &'static Self {
        Box::leak(Box::new(Run {
            tally,
            submitted: AtomicU64::new(0),
            pending: AtomicU64::new(1),
            ended: AtomicU64::new(0),
            epoch: Epoch::new(),
            caller: thread::current(),
            panic: Mutex::default(),
            fault,
        }))
    }

    /// Waits until all jobs have ended, and says when the last of them did, or that it is now.
    fn wait(&self) -> Result<u64, Failure> {
        // Ordering: AcqRel chains the ends of all jobs.
        let ended = match self.pending.fetch_sub(1, Ordering::AcqRel) {
            1 => self.epoch.nanos(),
            _ => loop {
                // Ordering: Acquire pairs with the Release of the last job's end.
                let ended = self.ended.swap(0, Ordering::Acquire);
                if ended != 0 {
                    break ended;
                }
                self.tally.go_on()?;
                thread::park_timeout(LOOK);
            },
        };
        self.pending.store(1, Ordering::Relaxed);
        Ok(ended)
    }

    /// Calls the closure, waits for its jobs, and says how long that took.
    pub(super) fn call(&self, closure: &Closure, pool: &AnyPool) -> Result<f64, Failure> {
        let before = self.submitted.load(Ordering::Relaxed);
        let begun = self.epoch.nanos();
        panic::catch_unwind(AssertUnwindSafe(|| closure(pool)))
            .map_err(|panic| Failure::Told(format!("the closure panicked: {}", words(&*panic))))?;
        // Without this a run that stands still could not say how many jobs are missing.
        let known = self.submitted.load(Ordering::Relaxed);
        self.tally.expect(Sum::one(0, 0).times(known - before));
        let ended = self.wait()?;
        let all = self.submitted.load(Ordering::Relaxed);
        self.tally.expect(Sum::one(0, 0).times(all - known));
        self.tally.step();
        let panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        panic.map_or(Ok(()), |words| Err(Failure::Told(format!("a job panicked: {words}"))))?;
        Ok(seconds(ended - begun))
    }
}

/// A job that is counted when it has run, and missed if it is dropped instead.
struct Counted {
    /// The job.
    job: Option<Job>,
    /// What all jobs share.
    run: &'static Run,
}

impl Counted {
    /// Runs it.
    fn run(mut self) {
        let Some(job) = self.job.take() else { return };
        let was_job = IS_JOB.replace(true);
        // Some pools end the process if a job panics.
        let ran = panic::catch_unwind(AssertUnwindSafe(job));
        IS_JOB.set(was_job);
        self.run.tally.ran(0, 0);
        if let Err(panic) = ran {
            let mut first = self.run.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| words(&*panic));
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Ordering: AcqRel chains the ends of all jobs, and what each did and counted, up to the last one.
        if self.run.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Ordering: Release pairs with the Acquire in `wait`.
            self.run.ended.store(self.run.epoch.nanos().max(1), Ordering::Release);
            self.run.caller.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counted;
    use crate::library::compare;
    use crate::library::tests::reason;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_job_that_is_dropped_instead_of_run_is_missed() {
        let drops = compare("drop", |pool| {
            let job = Counted { job: Some(Box::new(|| ())), run: pool.run };
            pool.run.submitted.fetch_add(1, Ordering::Relaxed);
            pool.run.pending.fetch_add(1, Ordering::Relaxed);
            drop(job);
        });
        let drops = drops.targets(["threadpool"]).threads(1).rounds(1);
        assert!(reason(drops, "threadpool").starts_with("lost "));
    }
}
