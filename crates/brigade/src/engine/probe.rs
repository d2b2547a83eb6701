//! The workers tell here what they do, for a trace: the only place at which the engine is observed from outside. The watches of
//! jobs tell the rest: [`brigade_observe`].
//!
//! Without the feature `trace` the functions that record are empty. With it, an untraced pool pays a test of its state where a
//! worker has no job to run; the test before a job is made anyway. [`brigade_trace`] has the design.

use std::borrow::Cow;
use std::panic::Location;
#[cfg(feature = "trace")]
use std::sync::Arc;

#[cfg(feature = "trace")]
use brigade_trace::{Now, Session, Trace, TraceError, Worker as Traced};

#[cfg(feature = "trace")]
use super::enter::entered;
use super::shared::Shared;
use super::what::{Label, Scope, What};
use super::worker::Worker;
#[cfg(feature = "trace")]
use super::worker::with_worker;
use crate::values::Role;

/// Removes the record of a job, if there is one.
pub(super) fn discard(scope: Option<Scope<'_>>) {
    if let Some(scope) = scope {
        scope.discard();
    }
}

impl Worker {
    /// Records what the worker does, if the pool is traced.
    #[inline(always)]
    pub(super) fn tell(&self, _what: What) {
        #[cfg(feature = "trace")]
        if let Some(pen) = self.pen(false) {
            pen.tell(_what);
        }
    }

    /// Records it until the returned value is dropped, if the pool is traced; whether it is part of the running job.
    #[inline(always)]
    pub(crate) fn begin(&self, _what: What, _is_inside: bool) -> Option<Scope<'_>> {
        #[cfg(feature = "trace")]
        return self.pen(_is_inside)?.begin(_what);
        #[cfg(not(feature = "trace"))]
        None
    }

    /// Records a job until the returned value is dropped. Not inlined in a debug build: nested jobs lie on the caller's frame.
    #[inline]
    pub(super) fn begin_job(&self, is_inside: bool) -> Option<Scope<'_>> {
        self.begin(What::Job(Label::default()), is_inside)
    }

    /// The pen of this worker, if there is a trace.
    #[cfg(feature = "trace")]
    #[inline(always)]
    pub(super) fn pen(&self, is_inside: bool) -> Option<brigade_trace::Pen<'_>> {
        let Shared { idle, tracer, .. } = &*self.shared;
        let pen = || tracer.pen(&self.me.track, is_inside || self.depth() > 0);
        idle.snapshot().is_traced().then(pen)
    }

    /// Records the start of the thread.
    pub(super) fn tell_start(&self) {
        self.tell(What::Starts(match self.role {
            Role::Core => "core",
            Role::BeyondCore => "beyond the core size",
            Role::Spare => "in place of a blocked one",
        }));
    }

    /// Records a steal: the returned job, and the jobs queued here since there were `before`.
    pub(super) fn tell_of_steal(&self, before: usize, from: usize) {
        let jobs = 1 + self.local.len().saturating_sub(before);
        self.tell(What::Stolen { from, jobs, are_forks: false });
    }
}

impl Shared {
    /// Calls `wake`, which wakes a worker, and records the wake-up.
    #[inline(always)]
    pub(super) fn tell_wake(&self, _index: usize, wake: impl FnOnce()) {
        #[cfg(feature = "trace")]
        if self.idle.snapshot().is_traced() && self.key.is_here() {
            let track = |index| &self.queues.peers.at(index).track;
            let waker = super::worker::index_in(self.key).map(track);
            return self.tracer.record_wake(waker, track(_index), _index, wake);
        }
        wake();
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
            Traced { index, track: &peer.track, record: &peer.record, now }
        });
        let (lasted, threads) = self.tracer.take(session, until, workers);
        Trace::new(pool, lasted, threads)
    }
}

/// Labels this thread's running job with a name and the place of its submission, for a trace. Does nothing if the
/// thread has entered another pool: the job then belongs to that pool.
#[inline(always)]
pub(crate) fn label_job(
    _name: Option<&Cow<'static, str>>,
    _place: Option<&'static Location<'static>>,
) {
    #[cfg(feature = "trace")]
    with_worker(|own| {
        let own = own.filter(|own| entered().is_none_or(|key| own.is_of(key)));
        _ = own.and_then(|own| own.pen(false)).map(|pen| pen.label(_name, _place));
    });
}
