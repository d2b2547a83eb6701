//! The events of the workers, for a trace: the only place at which the engine is observed from outside.
//!
//! Without the feature `trace` the functions that record are empty. With it, an untraced pool pays a test of its state where a
//! worker has no job to run; the test before a job is made anyway. [`brigade_trace`] has the design.

#[cfg(not(feature = "trace"))]
use core::marker::PhantomData;
#[cfg(feature = "trace")]
use std::sync::Arc;

#[cfg(feature = "trace")]
use brigade_observe::Label;
use brigade_observe::What;
#[cfg(feature = "trace")]
pub(crate) use brigade_trace::Scope;
#[cfg(feature = "trace")]
use brigade_trace::{Now, Session, Trace, TraceError, Worker as Traced};

use super::work::Work;
use crate::values::Role;

/// A recorded activity of a worker, until this is dropped.
#[cfg(not(feature = "trace"))]
pub(crate) struct Scope<'a>(PhantomData<&'a Work>);

#[cfg(not(feature = "trace"))]
impl Scope<'_> {
    /// Removes the scope without recording it.
    pub(crate) fn discard(self) {}
}

impl Work {
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

/// The start of a worker in this role.
pub(super) fn starts(role: Role) -> What {
    What::Starts(match role {
        Role::Core => "core",
        Role::BeyondCore => "beyond the core size",
        Role::Spare => "in place of a blocked one",
    })
}

#[cfg(feature = "trace")]
impl Work {
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
                let (name, place) = (job.label.name.clone(), Some(job.label.place));
                (Label { name, place }, stretch.since)
            });
            Traced { index, track: &peer.track, now, runs }
        });
        let (lasted, threads) = self.tracer.take(session, until, workers);
        Trace::new(pool, lasted, threads)
    }
}
