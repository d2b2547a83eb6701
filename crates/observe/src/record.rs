//! What one thread runs now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_machine::ThreadInfo;
use brigade_sync::Mutex;
use brigade_task::JobId;

use crate::job::Job;
#[cfg(feature = "histograms")]
use crate::times::Histograms;

/// A job while a thread runs it: a closure from its start to its end, or one poll of a future.
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

/// What one worker runs and has run, or all threads that are not the pool's.
///
/// Only that worker changes it, so its lock is free, except while another thread reads it for a dump or a look for stalls.
#[derive(Default)]
pub struct Record(Mutex<State>);

#[derive(Default)]
struct State {
    /// What it runs, outermost first.
    running: Vec<Stretch>,
    /// How long its jobs have waited and run; made with the first of them.
    #[cfg(feature = "histograms")]
    times: Option<Box<Histograms>>,
}

impl Record {
    /// A job starts, or its future is polled.
    pub(crate) fn begin(&self, job: &Arc<Job>, id: Option<JobId>, since: Instant) {
        let (job, thread) = (job.clone(), ThreadInfo::current());
        self.0.lock().running.push(Stretch { job, id, since, thread, is_reported: false });
    }

    /// The job, or its poll, ends.
    pub(crate) fn end(&self, job: &Arc<Job>) {
        let mut state = self.0.lock();
        // A worker's last one, as jobs nest; other threads have one record.
        let place = state.running.iter().rposition(|stretch| Arc::ptr_eq(&stretch.job, job));
        let ended = place.map(|place| state.running.remove(place));
        drop(state);
        drop(ended);
    }

    /// What runs, outermost first.
    pub fn running(&self) -> Vec<Stretch> {
        self.0.lock().running.clone()
    }

    /// A job has ended that waited and ran for so long.
    #[cfg(feature = "histograms")]
    pub(crate) fn add_times(&self, waited: Duration, ran: Duration) {
        self.0.lock().times.get_or_insert_with(|| Box::new(Histograms::new())).add(waited, ran);
    }

    /// Adds the recorded times to others.
    #[cfg(feature = "histograms")]
    pub(crate) fn add_times_to(&self, all: &mut Histograms) {
        self.0.lock().times.iter().for_each(|times| all.add_all(times));
    }

    /// Takes note of what has run for `after`, each once; also returns when the next one may have.
    pub(crate) fn stalled(&self, now: Instant, after: Duration) -> (Vec<Stretch>, Option<Instant>) {
        let mut next: Option<Instant> = None;
        let mut found = Vec::new();
        for stretch in self.0.lock().running.iter_mut().filter(|stretch| !stretch.is_reported) {
            match stretch.since.checked_add(after) {
                Some(at) if at <= now => {
                    stretch.is_reported = true;
                    found.push(stretch.clone());
                }
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
        (found, next)
    }
}
