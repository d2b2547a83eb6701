//! The events of the workers, for a trace: the only place at which the engine is observed from outside.
//!
//! Without the feature `trace` the functions that record are empty. With it, an untraced pool pays a test of its state where a
//! worker has no job to run; the test before a job is made anyway. [`brigade_trace`] has the design.

#![cfg_attr(not(feature = "trace"), expect(dead_code, reason = "a trace reads all that is told"))]

#[cfg(not(feature = "trace"))]
use core::marker::PhantomData;
#[cfg(feature = "trace")]
use std::sync::Arc;

#[cfg(feature = "trace")]
pub(crate) use brigade_trace::Scope;
#[cfg(feature = "trace")]
use brigade_trace::{Label, Now, Pen, Session, Since, Trace, TraceError, What, Worker as Traced};

use super::shared::Shared;
use crate::values::Role;

/// An event of a worker.
pub(super) enum Event {
    /// The thread has started, in this role.
    Starts(Role),
    /// The thread is about to end.
    Ends,
    /// The worker looks for a job.
    Searches,
    /// The worker has stopped searching.
    HasSearched,
    /// The worker begins to sleep; `true` if it holds the driver.
    Sleeps(bool),
    /// The sleeping worker holds the driver from now on.
    HoldsDriver,
    /// The worker has seen something to do before or during a sleep.
    Withdraws,
    /// The worker has been woken.
    IsWoken,
    /// The worker has taken jobs, or forks, from a peer.
    Steals { from: usize, jobs: usize, are_forks: bool },
    /// The worker has taken this many jobs from the shared queue.
    Takes(usize),
    /// The worker has fired this many timers.
    Fires(usize),
    /// The worker has polled I/O, and found this many events.
    Polls(usize),
}

/// An activity of a worker, until the returned [`Scope`] is dropped.
pub(crate) enum Span {
    /// A job runs.
    Job,
    /// A job runs inside the job that waits for it.
    JobInside,
    /// The worker is blocked.
    Blocked,
}

/// A recorded activity of a worker, until this is dropped.
#[cfg(not(feature = "trace"))]
pub(crate) struct Scope<'a>(PhantomData<&'a Shared>);

#[cfg(not(feature = "trace"))]
impl Scope<'_> {
    /// Removes the scope without recording it.
    pub(crate) fn discard(self) {}
}

impl Shared {
    /// Calls `wake`, which wakes a worker, and records the wake-up.
    #[inline(always)]
    pub(super) fn tell_wake(&self, _index: usize, wake: impl FnOnce()) {
        #[cfg(feature = "trace")]
        if self.idle.snapshot().is_traced() && self.key.is_here() {
            let track = |index| &self.queues.peers.at(index).track;
            let begun = self.tracer.begin_wake(track(_index), _index);
            wake();
            self.tracer.end_wake(super::current::index_in(self.key).map(track), begun);
            return;
        }
        wake();
    }
}

/// Records an event.
#[cfg(feature = "trace")]
#[cold]
pub(super) fn write(pen: Pen<'_>, event: Event) {
    let shown = |holds_driver| if holds_driver { "waits for timers and I/O" } else { "" };
    match event {
        Event::Starts(role) => pen.note(What::Starts(match role {
            Role::Core => "core",
            Role::BeyondCore => "beyond the shared size",
            Role::Spare => "in place of a blocked one",
        })),
        Event::Ends => pen.note(What::Ends),
        Event::Searches => pen.search(Since::Running),
        Event::HasSearched => pen.end_state(),
        Event::Sleeps(holds_driver) => pen.park(shown(holds_driver), Since::Running),
        Event::HoldsDriver => pen.park(shown(true), Since::Parked(0)),
        Event::Withdraws => pen.search(Since::Parked(0)),
        Event::IsWoken => pen.woken(),
        Event::Steals { from, jobs, are_forks } => {
            pen.note(What::Stolen { from, jobs, are_forks });
        }
        Event::Fires(0) | Event::Polls(0) => {}
        Event::Takes(jobs) => pen.note(What::Taken(jobs)),
        Event::Fires(timers) => pen.note(What::Timers(timers)),
        Event::Polls(events) => pen.note(What::Events(events)),
    }
}

#[cfg(feature = "trace")]
impl Shared {
    /// Begins a trace.
    ///
    /// # Errors
    /// If there is another trace, or the pool has ended.
    pub(crate) fn begin_trace(&self) -> Result<Session, TraceError> {
        if self.idle.snapshot().terminated() {
            return Err(TraceError::Ended);
        }
        let session = self.tracer.begin()?;
        self.idle.set_traced(true);
        Ok(session)
    }

    /// Ends a trace of the pool with this name.
    pub(crate) fn end_trace(&self, session: Session, pool: Arc<str>) -> Trace {
        self.idle.set_traced(false);
        // Before the workers are counted: a new worker records nothing from now on.
        let until = self.tracer.stop();
        let (present, parked) = self.idle.roster().present();
        let peers = &self.queues.peers;
        let workers = peers.iter().map(|(index, peer)| {
            let now = match present.contains(&index) {
                false => Now::Absent,
                true if parked.contains(&index) => Now::Parked,
                true => Now::Running,
            };
            let outermost = peer.record.running().into_iter().next();
            let runs = outermost.map(|stretch| {
                let job = &stretch.job;
                (Label::new(job.label.name.as_ref(), Some(job.label.place)), stretch.since)
            });
            Traced { index, track: &peer.track, now, runs }
        });
        let (lasted, threads) = self.tracer.take(session, until, workers);
        Trace::new(pool, lasted, threads)
    }
}
