//! The metrics of a pool, read from counters that may change at any time. No lock needed by workers to find, submit or
//! await work is taken, so the values may be of slightly different moments.

use super::shared::Shared;
use crate::values::{Metrics, Priority, Report, WorkerMetrics};

impl Shared {
    /// Reads the counters.
    ///
    /// The order of the reads matters. A job accepted before the queues were read, absent from them, and not
    /// ended afterwards was running in between. So no job counts as running before it starts, however long
    /// the reads take. This misses running jobs while new jobs arrive, and as many as there are queued
    /// entries of cancelled jobs. So threads that seem to have a job count as well, up to the number of
    /// cancelled jobs. A thread between two jobs seems to have one.
    pub(crate) fn metrics(&self) -> Metrics {
        let Self { config, ledger, queues, .. } = self;
        let peers = &queues.peers;
        let accepted = ledger.accepted(&self.queues, || self.tasks.wakes());
        // Read twice: a job that moves between queues meanwhile is seen by at least one of the reads.
        let seen = self.queues.len() as u64;
        let (mut workers, mut queued) = (Vec::new(), 0);
        for index in 0..peers.len() {
            let worker = match peers.get(index) {
                Some(peer) => peer.metrics(),
                None => WorkerMetrics::default(),
            };
            queued += worker.queued;
            workers.push(worker);
        }
        let of_class = |class| self.queues.lanes.len_of(class) as u64;
        let (high, low) = (of_class(Priority::High), of_class(Priority::Low));
        let queued = (queued + self.queues.injectors.len() as u64 + high + low).max(seen);
        let limited = ledger.limited();
        let queued = queued + limited;
        let totals = ledger.ended(peers);
        // Never less than a number returned before.
        let accepted = ledger.tell(accepted.max(totals.ended()));
        let unended = accepted - totals.ended();
        let state = self.idle.snapshot();
        let (threads, parked, at_work) = self.idle.census();
        let (live, idle, busy, at_work) = match state.terminated() {
            // The state of an ended pool no longer changes, although the parked workers leave.
            true => (self.idle.roster().indices.in_use(), 0, 0, 0),
            // Without futures, each running job has a thread.
            false if self.tasks.is_empty() => (threads, parked, threads, at_work),
            false => (threads, parked, at_work, at_work),
        };
        let surely = unended.saturating_sub(queued);
        let running = unended.min(at_work as u64).min(surely + totals.cancelled.sum()).max(surely);
        let queued = unended - running;
        Metrics {
            pool: config.pool_name(),
            threads: live,
            idle_threads: idle,
            // A worker that looks for its first job, or has just ended a job, seems busy: the jobs are a
            // second bound.
            busy_threads: busy.min(usize::try_from(running).unwrap_or(usize::MAX)),
            is_closed: state.closed(),
            accepted,
            returned: totals.returned,
            panicked: totals.panicked,
            cancelled: totals.cancelled.sum(),
            causes: totals.cancelled,
            evicted: totals.cancelled.evicted,
            rejected: ledger.rejected(),
            queued,
            queued_high: high.min(queued),
            queued_low: low.min(queued - high.min(queued)),
            queued_limited: limited.min(queued),
            running,
            workers,
        }
    }

    /// Reads the counts for the end of the pool, without the rest of the metrics.
    pub(crate) fn report(&self) -> Report {
        let Self { queues, tasks, ledger, .. } = self;
        let totals = ledger.ended(&queues.peers);
        Report {
            ran: totals.returned + totals.panicked,
            discarded: totals.cancelled.sum(),
            still_running: ledger.accepted(queues, || tasks.wakes()).saturating_sub(totals.ended()),
        }
    }
}
