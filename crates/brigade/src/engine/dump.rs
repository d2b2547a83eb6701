//! The current activity of the threads of a pool, for a dump and for the observer of its jobs.
//!
//! It is read from atomics, and from the records of the workers, each under its own lock. No lock needed by workers to
//! find, submit or await work is taken, so the values may be of slightly different moments.

use brigade_observe::{Dump, JobDump, Record, Stretch, WorkerDump};

use super::shared::Shared;
use super::worker::Worker;
use crate::values::Priority;

impl Worker {
    /// The record of the running job.
    pub(crate) fn record(&self) -> &Record {
        &self.me.record
    }
}

impl Shared {
    /// Reads the activity of the pool and of each worker.
    pub(crate) fn dump(&self) -> (Dump, Vec<Vec<Stretch>>) {
        let state = self.idle.snapshot();
        let has_ended = state.terminated();
        let mut dump = Dump::named(&self.config.pool_name());
        dump.is_closed = state.closed();
        dump.has_ended = has_ended;
        dump.closed_by = match (state.closed(), state.was_drained(), state.was_discarded()) {
            (false, ..) => None,
            (_, _, true) => Some("Shutdown::Discard"),
            (_, true, _) => Some("Shutdown::Drain"),
            _ => Some("Shutdown::Finish"),
        };
        let (threads, parked, _) = self.idle.census();
        dump.threads = if has_ended { self.idle.roster().indices.in_use() } else { threads };
        dump.parked = if has_ended { 0 } else { parked };
        dump.searching = if has_ended { 0 } else { state.searching() };
        dump.queued = self.queues.injectors.len();
        dump.queued_high = self.queues.lanes.len_of(Priority::High);
        dump.queued_low = self.queues.lanes.len_of(Priority::Low);
        dump.queued_limited = self.ledger.limited();
        dump.pending_futures = self.tasks.len();
        dump.cancelled = self.ledger.ended(&self.queues.peers).cancelled;
        let mut running = Vec::new();
        for index in 0..self.queues.peers.len() {
            let mut worker = WorkerDump::default();
            worker.index = index;
            running.push(Vec::new());
            if let Some(peer) = self.queues.peers.get(index) {
                running[index] = peer.record.running();
                worker.jobs = JobDump::all(&running[index]);
                worker.queued = peer.remote.len();
                worker.forks = peer.forks.len();
                worker.own = peer.mailbox.len();
            }
            dump.workers.push(worker);
        }
        self.config.observer.iter().for_each(|observer| observer.dump(&mut dump));
        (dump, running)
    }

    /// Calls a closure with the index and the record of each worker. Returns `false` if the pool [is over](Self::is_over).
    pub(crate) fn each_record(&self, call: &mut dyn FnMut(usize, &Record)) -> bool {
        // First: an observer that learns of the end does not call again.
        let is_over = self.is_over();
        self.queues.peers.iter().for_each(|(index, peer)| call(index, &peer.record));
        !is_over
    }
}
