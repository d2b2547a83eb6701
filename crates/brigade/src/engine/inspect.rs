//! What the threads of a pool do now: for a dump, and for the thread that looks for stalls.
//!
//! Both read atomics, and the records of the workers, each under its own lock. They take no lock that a worker needs to find,
//! submit or wait for work, so what they read may be of slightly different moments.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use brigade_sync::thread::NewThread;
use brigade_sync::time;
use brigade_task::drop_contained;

use super::core::Core;
use crate::observe::{Dump, JobDump, Looks, Observer, Stall, StallHook, Stretch, WorkerDump};
use crate::priority::Priority;

/// The stack of the thread that looks for stalls, in bytes: its hook may format and log.
const STACK_SIZE: usize = 256 << 10;

impl Core {
    /// Reads what the pool does, and what each of its workers runs.
    pub(crate) fn dump(&self) -> (Dump, Vec<Vec<Stretch>>) {
        let state = self.idle.snapshot();
        let has_ended = state.terminated();
        let mut dump = Dump::named(&self.config.observe.pool_name());
        dump.is_closed = state.closed();
        dump.is_observed = self.config.observer.is_some();
        dump.threads = if has_ended { self.threads.alive() } else { state.live() };
        dump.parked = if has_ended { 0 } else { state.parked() };
        dump.searching = if has_ended { 0 } else { state.searching() };
        dump.queued = self.queues.injectors.len();
        dump.queued_high = self.queues.lanes.len_of(Priority::High);
        dump.queued_low = self.queues.lanes.len_of(Priority::Low);
        dump.pending_futures = self.tasks.len();
        let mut running = Vec::new();
        for index in 0..self.queues.peers.len() {
            let mut worker = WorkerDump { index, ..WorkerDump::default() };
            running.push(Vec::new());
            if let Some(peer) = self.queues.peers.get(index) {
                running[index] = peer.record.running();
                worker.jobs = running[index].iter().map(JobDump::new).collect();
                worker.queued = peer.remote.len();
                worker.forks = peer.forks.len();
                worker.own = peer.mailbox.len();
            }
            dump.workers.push(worker);
        }
        if let Some(observer) = &self.config.observer {
            dump.elsewhere = observer.outside.running().iter().map(JobDump::new).collect();
        }
        (dump, running)
    }

    /// How long the jobs of the pool have waited and run, if that is recorded.
    #[cfg(feature = "histograms")]
    pub(crate) fn histograms(&self) -> Option<crate::observe::Histograms> {
        let observer = self.config.observer.as_ref().filter(|observer| observer.observe.times)?;
        let mut all = crate::observe::Histograms::new();
        self.queues.peers.iter().for_each(|(_, peer)| peer.record.add_times_to(&mut all));
        observer.outside.add_times_to(&mut all);
        Some(all)
    }

    /// Starts the thread that looks for stalls, if the pool has a hook for them.
    ///
    /// # Errors
    /// The operating system's error if it can't be started.
    pub(crate) fn start_detector(self: &Arc<Self>) -> io::Result<()> {
        let Some(observer) = self.config.observer.clone() else { return Ok(()) };
        let Some((after, hook)) = observer.observe.on_stall.clone() else { return Ok(()) };
        let (core, watched) = (Arc::downgrade(self), observer.clone());
        let name = format!("{}-stalls", observer.pool);
        let main = move || detect(&core, &watched, after, &hook);
        let new = NewThread::new(name, Some(STACK_SIZE), main);
        observer.detector.set_thread(new.inheriting(self.config.inherited.clone()).start()?);
        Ok(())
    }

    /// Ends that thread, and waits for its end until the deadline at most; returns whether it has ended.
    pub(super) fn end_detector(&self, deadline: Option<Instant>) -> bool {
        self.config.observer.as_ref().is_none_or(|observer| observer.detector.end(deadline))
    }

    /// What runs for longer than `after` and has not been reported, and when to look again.
    fn stalls(&self, observer: &Observer, after: Duration) -> (Vec<Stall>, Instant) {
        let now = time::now();
        let mut next = now.checked_add(after);
        let mut found = Vec::new();
        let peers = &self.queues.peers;
        let workers =
            (0..peers.len()).filter_map(|index| Some((Some(index), &peers.get(index)?.record)));
        for (index, record) in workers.chain([(None, &observer.outside)]) {
            let (stalled, first) = record.stalled(now, after);
            next = next.min(first).or(next).or(first);
            found.extend(stalled.iter().map(|one| Stall::new(observer.pool.clone(), index, one)));
        }
        (found, next.unwrap_or(now + FOREVER))
    }
}

/// The time between two looks if a limit is too far in the future to be represented.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The main function of the thread that looks for stalls.
fn detect(core: &Weak<Core>, observer: &Observer, after: Duration, hook: &StallHook) {
    let mut at = time::now();
    while observer.detector.sleep_until(at) == Looks::Again {
        let Some(core) = core.upgrade() else { return };
        // A pool that has been detached is not waited for, and its memory may be kept for long.
        if core.idle.snapshot().terminated() && core.threads.alive() == 0 {
            return;
        }
        let (stalls, next) = core.stalls(observer, after);
        drop(core);
        for stall in stalls {
            let told = panic::catch_unwind(AssertUnwindSafe(|| hook(&stall)));
            told.unwrap_or_else(drop_contained);
        }
        at = next;
    }
}
