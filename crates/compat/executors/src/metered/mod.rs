//! Counts of jobs for the recorder of the crate `metrics`.

use metrics::{counter, describe_counter, describe_gauge, gauge};

/// How many jobs have run.
const EXECUTED: &str = "executors.jobs_executed";
/// How many wait.
const QUEUED: &str = "executors.jobs_queued";

/// The counters of an executor.
#[derive(Clone, Copy)]
pub(crate) struct Meter {
    executor: &'static str,
    /// Whether jobs are counted by thread.
    by_thread: bool,
}

impl Meter {
    /// The counters of the executor with this label.
    pub(crate) fn new(executor: &'static str) -> Self {
        Self { executor, by_thread: false }
    }

    /// The same, by thread.
    pub(crate) fn by_thread(self) -> Self {
        Self { by_thread: true, ..self }
    }

    /// A job to be counted once it has run.
    pub(crate) fn executed<F>(self, job: F) -> impl FnOnce() + Send + 'static
    where
        F: FnOnce() + Send + 'static,
    {
        move || {
            let _executed = Executed(self);
            job();
        }
    }

    /// A job to be counted as waiting until it runs or is dropped, and once it has run.
    pub(crate) fn queued<F>(self, job: F) -> impl FnOnce() + Send + 'static
    where
        F: FnOnce() + Send + 'static,
    {
        gauge!(QUEUED, "executor" => self.executor).increment(1.0);
        let queued = Queued(self);
        self.executed(move || {
            drop(queued);
            job();
        })
    }

    /// Describes the counter of executed jobs to the recorder.
    pub(crate) fn describe_executed(self) {
        describe_counter!(EXECUTED, "How many jobs have run.");
    }

    /// Describes the counters to the recorder.
    pub(crate) fn describe(self) {
        self.describe_executed();
        describe_gauge!(QUEUED, "How many jobs wait.");
    }
}

/// Counts an executed job, by its drop: a panicking job has run too.
struct Executed(Meter);

impl Drop for Executed {
    fn drop(&mut self) {
        let Meter { executor, by_thread } = self.0;
        match brigade::current_worker_index().filter(|_| by_thread) {
            Some(index) => {
                counter!(EXECUTED, "executor" => executor, "thread_id" => index.to_string())
            }
            None => counter!(EXECUTED, "executor" => executor),
        }
        .increment(1);
    }
}

/// A waiting job, until it is dropped.
struct Queued(Meter);

impl Drop for Queued {
    fn drop(&mut self) {
        gauge!(QUEUED, "executor" => self.0.executor).decrement(1.0);
    }
}
