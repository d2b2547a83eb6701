//! The metrics of a pool, read from counters that may change at any time.

use super::core::Core;
use crate::metrics::{Counters, Metrics, WorkerMetrics};

impl Core {
    /// Reads the counters, in an order that keeps each from exceeding the total that it is part of.
    pub(crate) fn metrics(&self) -> Metrics {
        let peers = &self.queues.peers;
        let sum =
            |pick: fn(&Counters) -> u64| peers.iter().map(|peer| pick(&peer.counters)).sum::<u64>();
        let totals = *self.ledger.totals();
        let panicked = sum(|counters| counters.panicked.get()) + totals.panicked;
        let returned = sum(|counters| counters.returned.get()) + totals.returned;
        let cancelled = sum(|counters| counters.cancelled.get()) + totals.cancelled;
        let finished = returned + panicked + cancelled;
        let metrics = |index| peers.get(index).map(|peer| peer.metrics()).unwrap_or_default();
        let workers: Vec<WorkerMetrics> = (0..peers.len()).map(metrics).collect();
        let queued = self.queues.injectors.len() as u64
            + workers.iter().map(|worker| worker.queued).sum::<u64>();
        let accepted = self.queues.injectors.pushed() + sum(|counters| counters.accepted.get());
        let accepted = accepted + self.ledger.totals().accepted;
        let again = sum(|counters| counters.moved.get()) + self.tasks.wakes();
        let accepted = accepted.saturating_sub(again).max(finished);
        let queued = queued.min(accepted - finished);
        let state = self.idle.snapshot();
        // Once the pool has ended, its state no longer changes, although the parked workers leave.
        let (live, idle) = match state.terminated() {
            true => (self.threads.alive(), 0),
            false => (state.live(), state.parked()),
        };
        Metrics {
            threads: live,
            idle_threads: idle,
            is_closed: state.closed(),
            accepted,
            returned,
            panicked,
            cancelled,
            evicted: totals.evicted,
            queued,
            running: accepted - finished - queued,
            workers,
        }
    }
}
