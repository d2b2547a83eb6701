//! What the soak itself counts, beside the pool's own counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brigade::{Metrics, Report};

/// One pool's jobs as those see it who submit and run them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    accepted: AtomicU64,
    /// Closures that came back.
    rejected: AtomicU64,
    returned: AtomicU64,
    panicked: AtomicU64,
    /// Closures dropped before they were called, those that came back among them.
    uncalled: AtomicU64,
}

/// The final figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) accepted: u64,
    pub(crate) returned: u64,
    pub(crate) panicked: u64,
    pub(crate) cancelled: u64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::SeqCst);
}

impl Ledger {
    /// So many closures were taken, and so many came back.
    pub(crate) fn submitted(&self, taken: u64, back: u64) {
        add(&self.accepted, taken);
        add(&self.rejected, back);
    }

    /// A job that had no ticket has returned.
    pub(crate) fn returned_without_a_ticket(&self) {
        add(&self.returned, 1);
    }

    /// Exact once nobody submits any more and everything accepted has ended.
    pub(crate) fn sums(&self) -> Sums {
        let get = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Sums {
            returned: get(&self.returned),
            panicked: get(&self.panicked),
            cancelled: get(&self.uncalled).saturating_sub(get(&self.rejected)),
            accepted: get(&self.accepted),
        }
    }
}

impl Sums {
    pub(crate) fn outcomes(self) -> u64 {
        self.returned + self.panicked + self.cancelled
    }

    /// The pool is quiet: its counters say the same, to the job.
    pub(crate) fn assert_agrees_with_metrics(self, metrics: &Metrics) {
        let theirs = Self {
            accepted: metrics.accepted,
            returned: metrics.returned,
            panicked: metrics.panicked,
            cancelled: metrics.cancelled,
        };
        assert_eq!(self, theirs, "the soak's count and the pool's");
        assert_eq!((metrics.queued, metrics.running), (0, 0), "{metrics:?}");
        assert_eq!(self.accepted, self.outcomes(), "{self:?}");
    }

    /// The pool has ended. A producer may have just cancelled a job and not told the pool yet: such a job is still in its
    /// report as one without an outcome.
    pub(crate) fn assert_agrees_with_report(self, report: &Report) {
        assert_eq!(self.returned + self.panicked, report.ran, "{self:?}, {report:?}");
        assert_eq!(self.cancelled, report.discarded + report.still_running, "{self:?}, {report:?}");
    }
}

/// Goes with a closure: says whether it was called, and how that ended.
pub(crate) struct Ticket {
    ledger: Arc<Ledger>,
    called: bool,
}

impl Ticket {
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Self {
        Self { ledger: Arc::clone(ledger), called: false }
    }

    /// The closure has been called. For what it submits.
    pub(crate) fn called(&mut self) -> Arc<Ledger> {
        assert!(!std::mem::replace(&mut self.called, true), "called twice");
        Arc::clone(&self.ledger)
    }

    /// It is about to return.
    pub(crate) fn returns(&self) {
        add(&self.ledger.returned, 1);
    }

    /// It is about to panic.
    pub(crate) fn panics(&self) {
        add(&self.ledger.panicked, 1);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.called {
            add(&self.ledger.uncalled, 1);
        }
    }
}
