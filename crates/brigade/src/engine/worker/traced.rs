//! What a worker does, for a trace of its pool. `trace/README.md` has the design.

use std::borrow::Cow;
use std::panic::Location;

use super::{CURRENT, Worker};
use crate::engine::core::Core;
use crate::engine::current;
use crate::engine::enter::entered;
use crate::idle::Duty;
use crate::role::Role;
use crate::trace::{Pen, Scope, Since, Wake, What};

/// What a trace shows of a duty.
fn shown(duty: Option<Duty>) -> &'static str {
    match duty {
        None => "",
        Some(Duty::Monitor) => "monitors the queues",
        Some(Duty::Driver) => "waits for timers and I/O",
        Some(Duty::Standby) => "stands by for timers and I/O",
    }
}

impl Core {
    /// Notes that a thread, maybe this worker of the pool, is about to wake a worker.
    pub(in crate::engine) fn begin_wake(&self, index: usize) -> Option<Wake> {
        let is_traced = self.idle.snapshot().is_traced() && self.key.is_here();
        is_traced.then(|| self.tracer.begin_wake(&self.queues.peers.at(index).track, index))
    }

    /// It has woken the worker.
    pub(in crate::engine) fn end_wake(&self, wake: Option<Wake>) {
        let Some(wake) = wake else { return };
        let waker = current::index_in(self.key).map(|index| &self.queues.peers.at(index).track);
        self.tracer.end_wake(waker, wake);
    }
}

impl Worker {
    /// The track of this worker, if there is a trace.
    #[inline(always)]
    fn pen(&self) -> Option<Pen<'_>> {
        let is_traced = self.core.idle.snapshot().is_traced();
        is_traced.then(|| self.core.tracer.pen(&self.me.track, self.is_inside()))
    }

    /// A job runs on it until the returned value is dropped.
    pub(super) fn trace_job(&self) -> Option<Scope<'_>> {
        self.pen()?.job()
    }

    /// A job runs on it, inside the one that waits for it, until the returned value is dropped.
    pub(crate) fn trace_job_inside(&self) -> Option<Scope<'_>> {
        self.pen()?.inside().job()
    }

    /// It is blocked until the returned value is dropped.
    pub(super) fn trace_block(&self) -> Option<Scope<'_>> {
        self.pen()?.blocked()
    }

    /// It looks for a job.
    pub(super) fn trace_search(&self) {
        self.pen().into_iter().for_each(Pen::search);
    }

    /// Notes that the worker stops searching.
    pub(super) fn trace_search_end(&self) {
        self.pen().into_iter().for_each(Pen::end_state);
    }

    /// It sleeps, with this duty.
    pub(super) fn trace_park(&self, duty: Option<Duty>) {
        self.pen().into_iter().for_each(|pen| pen.park(shown(duty), Since::Running));
    }

    /// It continues to sleep, with another duty.
    pub(super) fn trace_duty(&self, duty: Option<Duty>) {
        self.pen().into_iter().for_each(|pen| pen.park(shown(duty), Since::Parked(0)));
    }

    /// It has seen something to do instead of sleeping, or while it slept.
    pub(super) fn trace_withdraw(&self) {
        self.pen().into_iter().for_each(Pen::withdraw);
    }

    /// It has been woken.
    pub(super) fn trace_woken(&self) {
        self.pen().into_iter().for_each(Pen::woken);
    }

    fn note(&self, what: impl FnOnce() -> What) {
        if let Some(pen) = self.pen() {
            pen.note(what());
        }
    }

    /// Its thread has started, for this.
    pub(super) fn trace_start(&self) {
        self.note(|| {
            What::Starts(match self.role {
                Role::Core => "core",
                Role::BeyondCore => "beyond the core size",
                Role::Spare => "in place of a blocked one",
            })
        });
    }

    /// Its thread is about to end.
    pub(super) fn trace_end(&self) {
        self.note(|| What::Ends);
    }

    /// It has stolen a job, and others that it has queued.
    pub(super) fn trace_steal(&self, before: Option<usize>, from: usize) {
        let Some(before) = before else { return };
        let jobs = 1 + self.local.len().saturating_sub(before);
        self.note(|| What::Stolen { from, jobs, are_forks: false });
    }

    /// It has stolen a fork.
    pub(super) fn trace_stolen_fork(&self, from: usize) {
        self.note(|| What::Stolen { from, jobs: 1, are_forks: true });
    }

    /// It is about to take jobs from another queue: how many its own queue has, if there is a trace.
    pub(super) fn trace_before_take(&self) -> Option<usize> {
        self.pen().map(|_| self.local.len())
    }

    /// It has taken some of the shared queue.
    pub(super) fn trace_take(&self, before: Option<usize>) {
        let Some(before) = before else { return };
        self.note(|| What::Taken(1 + self.local.len().saturating_sub(before)));
    }

    /// It has fired timers.
    pub(super) fn trace_timers(&self, count: usize) {
        if count > 0 {
            self.note(|| What::Timers(count));
        }
    }

    /// It has polled I/O, and found events.
    pub(super) fn trace_events(&self, count: usize) {
        if count > 0 {
            self.note(|| What::Events(count));
        }
    }
}

/// The job that this thread runs is known by a name, and by the place of its submission. A job of another pool, which has entered
/// that one, is not shown.
pub(crate) fn label_job(
    name: Option<&Cow<'static, str>>,
    place: Option<&'static Location<'static>>,
) {
    CURRENT.with(|worker| {
        let Some(worker) = worker else { return };
        let Some(pen) = worker.pen() else { return };
        if entered().is_none_or(|key| worker.is_of(key)) {
            pen.label(name, place);
        }
    });
}
