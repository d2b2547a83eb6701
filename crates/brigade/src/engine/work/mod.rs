//! The work of a pool: queues, events and futures, their counts, and the workers that run or await it. This module
//! decides when all of it has ended, and so has the pool. It must not know how work is accepted, nor how a thread is
//! started: the end of a pool needs neither.
//!
//! `end` has the moments at which a pool is idle or ends, and the work that it then waits for.

mod end;

use core::any::Any;
use std::sync::Arc;

use brigade_observe::Observer;
use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::unmodelled;
use brigade_task::{Job, return_tickets};

use super::current;
use super::ends::ledger::Ledger;
use super::idle::{Idle, Roster};
use super::key::Key;
use super::owned_tasks::OwnedTasks;
use super::queues::{Accepts, Queues};
use super::sleep::events::Events;
use super::sleep::resources::Resources;
use crate::values::{Config, Hooks, Priority, Reason};
pub(in crate::engine) use end::OffPoolWork;

/// The work of one pool.
pub(crate) struct Work {
    pub(crate) key: Key,
    pub(in crate::engine) queues: Queues,
    pub(crate) idle: Idle,
    /// Boxed, for the reason in `Core::new`.
    pub(crate) events: Box<Events>,
    pub(in crate::engine) tasks: OwnedTasks,
    /// Boxed as `events`.
    pub(crate) ledger: Box<Ledger>,
    /// Until the pool has ended.
    hooks: unmodelled::Mutex<Option<Arc<Hooks>>>,
    observer: Option<Arc<Observer>>,
    /// Records the activity of the workers while the pool is traced.
    #[cfg(feature = "trace")]
    pub(in crate::engine) tracer: brigade_trace::Tracer,
}

impl Work {
    /// The state of a pool without workers; the process may run `cpus` threads at once.
    pub(in crate::engine) fn new(
        key: Key,
        config: &Config,
        hooks: Hooks,
        cpus: usize,
        resources: Resources,
    ) -> Box<Self> {
        Box::new(Self {
            key,
            queues: Queues::new(config, cpus),
            idle: Idle::new(config, cpus),
            events: Box::new(Events::new(config.size.max.min(cpus), config.is_paused, resources)),
            tasks: OwnedTasks::new(),
            ledger: Box::default(),
            hooks: unmodelled::Mutex::new(Some(Arc::new(hooks))),
            observer: config.observer.clone(),
            #[cfg(feature = "trace")]
            tracer: brigade_trace::Tracer::default(),
        })
    }

    /// The user's hooks; the default once the pool has ended.
    pub(in crate::engine) fn hooks(&self) -> Arc<Hooks> {
        self.hooks.lock().clone().unwrap_or_default()
    }

    /// Applies the pool's policy to a panic without a handle.
    ///
    /// # Errors
    /// If the callback panicked, which is contained.
    #[cold]
    pub(in crate::engine) fn tell_panic(&self, payload: Box<dyn Any + Send>) -> Result<(), ()> {
        self.hooks().on_panic.tell(payload)
    }

    /// Sets the token of a picked worker.
    pub(in crate::engine) fn wake(&self, index: usize) {
        let sleeper = &self.queues.peers.at(index).sleeper;
        self.tell_wake(index, || sleeper.unpark(&self.events.driver));
    }

    /// Removes a worker whose thread could not be started; returns the shares of broadcasts sent to it.
    pub(in crate::engine) fn remove_unstarted(&self, index: usize) -> Vec<Job> {
        self.idle.fail(index, || self.queues.peers.at(index).mailbox.take_shares())
    }

    /// Wakes a parked worker for jobs that relied on a failed start, and cancels the worker's `shares`.
    pub(in crate::engine) fn start_failed(&self, shares: Vec<Job>) {
        // A worker waiting inside a job may be the last worker.
        if self.idle.roster().has_failed_to_start() {
            self.events.candidates.call_last();
        }
        let has_work = self.queues.has_work();
        let sleeper = if has_work { self.idle.change(Roster::pick_parked) } else { None };
        sleeper.into_iter().for_each(|index| self.wake(index));
        self.settle();
        if !shares.is_empty() {
            self.off_pool(|| shares.into_iter().for_each(|share| self.ledger.drop_job(share)));
        }
    }

    /// Accepts jobs that are not queued, from a job of this pool (`inside`) or from elsewhere, unless the pool rejects
    /// them; `accept` counts them.
    pub(in crate::engine) fn accept<R>(
        &self,
        inside: bool,
        accept: impl FnOnce(&mut u64) -> R,
    ) -> Option<R> {
        // Under the lock taken by `close` after it has closed the pool: every accepted job is in the final report, and
        // a discarded pool drops it.
        let is_open = || !self.idle.snapshot().rejects(inside);
        self.ledger.accept(|accepted| is_open().then(|| accept(accepted)))
    }

    /// Whether the pool no longer accepts anything from outside.
    pub(crate) fn is_closed(&self) -> bool {
        // The state changes last: every part is closed by then.
        self.idle.snapshot().closed()
    }

    /// The reason for a rejection by a pool that was not full.
    pub(crate) fn refusal(&self) -> Reason {
        // An open pool rejects a job only if it has no thread for it. The state of a pool being closed may
        // not be `CLOSED` yet, but its injectors, which are closed first, are.
        if self.queues.injectors.is_closing() { Reason::Closed } else { Reason::NoThread }
    }

    /// Queues an accepted job in a pool that may be closed, or returns the job if it will no longer run.
    #[cold]
    pub(in crate::engine) fn push_late(&self, class: Priority, job: Job) -> Result<(), Job> {
        // Under the gate, like the end of the pool, which therefore sees this push.
        let _gate = self.tasks.lock_gate();
        match self.idle.snapshot().discards() {
            true => Err(job),
            false => self.queues.push(class, job, Accepts::Always, &self.idle),
        }
    }

    /// Queues a woken local future for its worker, and wakes the worker if it is parked.
    pub(crate) fn send_local(&self, index: usize, job: Job) {
        self.queues.peers.at(index).mailbox.send(job);
        // The worker itself looks before it parks.
        if current::index_in(self.key) != Some(index)
            && self.idle.after_publishing().parked() > 0
            && self.idle.change(|roster| roster.pick_this(index))
        {
            self.wake(index);
        }
    }

    /// Whether a look of the calling worker, which runs, has missed forks: a peer may have pushed them without a fence
    /// after it saw this worker search. Returns `false` while the monitor watches, because it finds such forks.
    #[cold]
    pub(in crate::engine) fn has_forks_unseen(&self) -> bool {
        let seen = self.idle.snapshot();
        if !seen.has_reserves_for_forks() || seen.watched() {
            return false;
        }
        self.fence_forks(1);
        self.queues.has_work()
    }

    /// Ensures that the next look sees all forks of workers that have not yet seen the announcement of the calling
    /// worker, which is `own` of the running workers: 1 if it counts as running.
    pub(in crate::engine) fn fence_forks(&self, own: usize) {
        // A worker that starts running later changes the state first, and so sees the announcement.
        if self.idle.snapshot().running() > own {
            self.queues.fence_forks();
        } else {
            // Ordering: Acquire: a worker that has ceased to run, by the state, pushed before it changed the state, and
            // this worker sees the pushes.
            fence(Ordering::Acquire);
        }
    }

    /// Notes that a queued job has ended off the pool: the entry stays in a queue.
    pub(crate) fn leaves_entry(&self) {
        if self.ledger.leaves_entry() {
            self.sweep();
        }
    }

    /// Sweeps completed entries out of the injectors, the lanes and the mailboxes.
    pub(in crate::engine) fn sweep(&self) {
        self.ledger.count_cancelled(self.queues.sweep(&self.idle));
        return_tickets();
        // A worker that looked during the sweep may have seen work, and therefore not settled.
        self.settle();
    }
}
