//! What one thread runs now.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::Mutex;
use brigade_task::JobId;

use super::times::Recorded;
use brigade_machine::ThreadInfo;

use super::JobInfo;

/// A job while a thread runs it: a closure from its start to its end, or one poll of a future.
#[derive(Clone)]
pub(crate) struct Stretch {
    pub(crate) job: Arc<JobInfo>,
    /// Names it in the graph of waits, if it has a handle.
    pub(crate) id: Option<JobId>,
    pub(crate) since: Instant,
    pub(crate) thread: Arc<ThreadInfo>,
    /// Whether it has been reported as stalled.
    pub(crate) is_reported: bool,
}

/// What one worker runs and has run, or all threads that are not the pool's.
///
/// Only that worker changes it, so its lock is free, except while another thread reads it for a dump or a look for stalls.
#[derive(Default)]
pub(crate) struct Record(Mutex<State>);

#[derive(Default)]
struct State {
    /// What it runs, outermost first.
    running: Vec<Stretch>,
    /// How long jobs have waited and run.
    times: Recorded,
}

impl Record {
    /// A job starts, or its future is polled; `waited` if it starts and times are recorded.
    pub(crate) fn begin(&self, stretch: Stretch, waited: Option<Duration>) {
        let mut state = self.0.lock();
        state.running.push(stretch);
        state.times.add_waiting(waited);
    }

    /// That ends; `ran` if the job has ended and times are recorded.
    pub(crate) fn end(&self, job: &Arc<JobInfo>, ran: Option<Duration>) {
        let mut state = self.0.lock();
        // A worker's last one, as jobs nest; other threads have one record.
        let place = state.running.iter().rposition(|stretch| Arc::ptr_eq(&stretch.job, job));
        let ended = place.map(|place| state.running.remove(place));
        state.times.add_running(ran);
        drop(state);
        drop(ended);
    }

    /// What runs, outermost first.
    pub(crate) fn running(&self) -> Vec<Stretch> {
        self.0.lock().running.clone()
    }

    /// Adds the recorded times to others.
    #[cfg(feature = "histograms")]
    pub(crate) fn add_times_to(&self, all: &mut super::Histograms) {
        self.0.lock().times.add_to(all);
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
