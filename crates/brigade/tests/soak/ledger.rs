//! The soak's own counts, to compare with the pool's counters.
//!
//! Two figures are not exact. A job that waits in a [`TaskSet`](brigade::TaskSet) has been accepted by the set, and perhaps
//! never by the pool. And a job whose turn it is while another is evicted may be dropped by the same call. Only jobs of sets
//! with a limit or on a bounded pool can do either, so these are *in doubt*; all others must agree exactly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brigade::{Metrics, Reason, Report, WhenFull};

use crate::doing::Doing;
use crate::plan::Plan;

/// One pool's jobs, as counted by their submitters and by themselves.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// What the pool does when it is full; `None` if it never is.
    pub(crate) when_full: Option<WhenFull>,
    /// Whether there may be no thread for a job.
    may_lack_threads: bool,
    /// Whether the pool's end may have begun.
    ends: AtomicBool,
    accepted: AtomicU64,
    /// Closures that were returned.
    rejected: AtomicU64,
    returned: AtomicU64,
    panicked: AtomicU64,
    /// Closures dropped before they were called, including returned ones.
    uncalled: AtomicU64,
    /// Those of them that are in doubt.
    doubtful: AtomicU64,
    /// Closures dropped uncalled by a submission, in a pool that does that for want of room.
    evicted: AtomicU64,
    /// As many again may have been evicted.
    perhaps_evicted: AtomicU64,
}

/// The final figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// What the pool does when it is full.
    when_full: Option<WhenFull>,
    pub(crate) accepted: u64,
    pub(crate) returned: u64,
    pub(crate) panicked: u64,
    pub(crate) cancelled: u64,
    /// At most this many of the accepted and cancelled ones have never reached the pool.
    doubtful: u64,
    evicted: u64,
    perhaps_evicted: u64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::SeqCst);
}

impl Ledger {
    pub(crate) fn new(plan: &Plan) -> Arc<Self> {
        let (when_full, may_lack_threads) = (plan.when_full(), plan.may_lack_threads());
        Arc::new(Self { when_full, may_lack_threads, ..Self::default() })
    }

    /// Counts closures that were accepted, and closures that were returned.
    pub(crate) fn submitted(&self, taken: u64, back: u64) {
        add(&self.accepted, taken);
        add(&self.rejected, back);
    }

    /// A share of a broadcast is about to return.
    pub(crate) fn share_returns(&self) {
        add(&self.returned, 1);
    }

    /// As many shares were dropped before they were called.
    pub(crate) fn shares_uncalled(&self, shares: u64) {
        add(&self.uncalled, shares);
    }

    /// The pool's end is about to begin.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::SeqCst);
    }

    /// Counts a closure that was returned for this reason; says whether this kind of submission may report that the pool is
    /// full.
    pub(crate) fn assert_is_reason(&self, reason: Reason, may_be_full: bool) {
        let is_one = match reason {
            Reason::Full => may_be_full,
            Reason::NoThread => self.may_lack_threads,
            Reason::Closed => self.ends.load(Ordering::SeqCst),
            _ => false,
        };
        assert!(is_one, "{reason:?} is no reason: {self:?}");
    }

    fn drops_for_room(&self) -> bool {
        matches!(self.when_full, Some(WhenFull::DropOldest | WhenFull::DropNewest))
    }

    /// Exact once no thread submits any more and everything accepted has ended.
    pub(crate) fn sums(&self) -> Sums {
        let get = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Sums {
            when_full: self.when_full,
            returned: get(&self.returned),
            panicked: get(&self.panicked),
            cancelled: get(&self.uncalled).saturating_sub(get(&self.rejected)),
            doubtful: get(&self.doubtful),
            evicted: get(&self.evicted),
            perhaps_evicted: get(&self.perhaps_evicted),
            accepted: get(&self.accepted),
        }
    }
}

impl Sums {
    pub(crate) fn outcomes(self) -> u64 {
        self.returned + self.panicked + self.cancelled
    }

    /// How many jobs of sets have never reached a pool that accepted this many.
    fn unreached(self, accepted: u64) -> u64 {
        let unreached = self.accepted.checked_sub(accepted);
        let unreached = unreached.filter(|unreached| *unreached <= self.doubtful);
        unreached.unwrap_or_else(|| panic!("accepted {accepted}, by the pool's count, of {self:?}"))
    }

    /// The pool is quiet: its counters must be equal, exactly.
    pub(crate) fn assert_agrees_with_metrics(self, metrics: &Metrics) {
        let cancelled = metrics.cancelled + self.unreached(metrics.accepted);
        assert_eq!(
            (self.returned, self.panicked, self.cancelled),
            (metrics.returned, metrics.panicked, cancelled),
            "the soak's count and the pool's: {self:?}, {metrics:?}",
        );
        assert_eq!((metrics.queued, metrics.running), (0, 0), "{metrics:?}");
        assert_eq!(self.accepted, self.outcomes(), "{self:?}");
        let evicted = self.evicted..=self.evicted + self.perhaps_evicted;
        assert!(evicted.contains(&metrics.evicted), "{self:?}, {metrics:?}");
    }

    /// The pool has ended. A producer may have just cancelled a job and not told the pool yet, or still run one for which
    /// there was no room: such a job is still in the pool's report as one without an outcome.
    pub(crate) fn assert_agrees_with_report(self, report: &Report) {
        self.unreached(report.ran + report.discarded + report.still_running);
        let late = (self.returned + self.panicked).checked_sub(report.ran);
        match self.when_full {
            Some(WhenFull::RunInCaller) => {
                assert!(
                    late.is_some_and(|late| late <= report.still_running),
                    "{self:?}, {report:?}"
                );
            }
            _ => assert_eq!(late, Some(0), "{self:?}, {report:?}"),
        }
    }
}

/// Goes with a closure: says whether it was called, and how that ended.
pub(crate) struct Ticket {
    ledger: Arc<Ledger>,
    /// Whether the closure may be called.
    valid: bool,
    /// Whether its job may wait in a set.
    in_doubt: bool,
    called: bool,
}

impl Ticket {
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Self {
        Self { ledger: Arc::clone(ledger), valid: true, in_doubt: false, called: false }
    }

    /// That of a job that came too late before it was submitted.
    pub(crate) fn invalid(mut self) -> Self {
        self.valid = false;
        self
    }

    /// That of a job that may wait in a set.
    pub(crate) fn in_doubt(mut self) -> Self {
        self.in_doubt = true;
        self
    }

    /// The closure has been called. For what it submits.
    pub(crate) fn called(&mut self) -> Arc<Ledger> {
        assert!(!std::mem::replace(&mut self.called, true), "called twice");
        assert!(self.valid, "called after its deadline");
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
        if self.called {
            return;
        }
        let ledger = &*self.ledger;
        if ledger.drops_for_room() && Doing::now() == Doing::Submitting {
            add(if self.in_doubt { &ledger.perhaps_evicted } else { &ledger.evicted }, 1);
        }
        if self.in_doubt {
            add(&ledger.doubtful, 1);
        }
        // The last one, which is waited for.
        add(&ledger.uncalled, 1);
    }
}
