//! The jobs that a thread runs now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_sync::Mutex;
use brigade_task::JobId;

use crate::job::Job;
use crate::thread::ThreadInfo;
#[cfg(feature = "histograms")]
use crate::times::Histograms;

/// A job while a thread runs it: a closure from start to end, or a single poll of a future.
#[derive(Clone)]
pub struct Stretch {
    /// The job.
    pub job: Arc<Job>,
    /// Names it in a list of waits, if it has a handle.
    pub id: Option<JobId>,
    /// When it began.
    pub since: Instant,
    /// The thread.
    pub thread: Arc<ThreadInfo>,
    /// Whether it has been reported as stalled.
    pub(crate) is_reported: bool,
}

/// The present and past jobs of a worker, or of all foreign threads.
///
/// Only the worker changes it, so the lock is free, except while another thread reads it for a dump or a look for stalls.
#[derive(Default)]
pub struct Record(Mutex<State>);

#[derive(Default)]
struct State {
    /// The running jobs, outermost first.
    running: Vec<Stretch>,
    /// How long the jobs have waited and run; made with the first job.
    #[cfg(feature = "histograms")]
    times: Option<Box<Histograms>>,
}

impl Record {
    /// Records the start of a job, or of a poll of a future.
    pub(crate) fn begin(&self, job: &Arc<Job>, id: Option<JobId>, since: Instant) {
        let (job, thread) = (job.clone(), ThreadInfo::current());
        self.0.lock().running.push(Stretch { job, id, since, thread, is_reported: false });
    }

    /// Records the end of the job, or of the poll.
    pub(crate) fn end(&self, job: &Arc<Job>) {
        let mut state = self.0.lock();
        // The last entry on a worker, as jobs nest; other threads share a record.
        let place = state.running.iter().rposition(|stretch| Arc::ptr_eq(&stretch.job, job));
        let Some(place) = place else { return };
        let ended = state.running.remove(place);
        drop(state);
        drop(ended);
    }

    /// The running jobs, outermost first.
    pub fn running(&self) -> Vec<Stretch> {
        self.0.lock().running.clone()
    }

    /// Records the waiting and running time of an ended job.
    #[cfg(feature = "histograms")]
    pub(crate) fn add_times(&self, waited: Duration, ran: Duration) {
        self.0.lock().times.get_or_insert_with(|| Box::new(Histograms::new())).add(waited, ran);
    }

    /// Adds the recorded times to others.
    #[cfg(feature = "histograms")]
    pub(crate) fn add_times_to(&self, all: &mut Histograms) {
        self.0.lock().times.iter().for_each(|times| all.add_all(times));
    }

    /// Marks the jobs that have run for `after`, each once; also returns the time to look for the next.
    pub(crate) fn stalled(&self, now: Instant, after: Duration) -> (Vec<Stretch>, Option<Instant>) {
        let mut next: Option<Instant> = None;
        let mut found = Vec::new();
        for stretch in &mut self.0.lock().running {
            let Some(at) = stretch.since.checked_add(after) else { continue };
            if stretch.is_reported {
                continue;
            }
            if at <= now {
                stretch.is_reported = true;
                found.push(stretch.clone());
            } else if next.is_none_or(|next| at < next) {
                next = Some(at);
            }
        }
        (found, next)
    }
}
