//! Bounded pools whose queue is full, or about to be.

use crate::support::busy::occupy;
use brigade::{Builder, Metrics, Pool, Reason, WhenFull};
use brigade_testkit::Gate;

/// A pool of one thread, which is busy until the gate opens, with this capacity.
pub(crate) fn busy(builder: Builder, capacity: usize, policy: WhenFull) -> (Pool, Gate) {
    let pool = builder.threads(1).capacity(capacity).when_full(policy).build().unwrap();
    let gate = Gate::closed();
    occupy(&pool, &gate);
    (pool, gate)
}

/// The builder with a capacity, if there is one.
pub(crate) fn with_capacity(builder: Builder, capacity: Option<usize>) -> Builder {
    capacity.into_iter().fold(builder, |builder, jobs| builder.capacity(jobs))
}

/// Queues jobs that do nothing until there is no room; returns how many.
pub(crate) fn fill(pool: &Pool) -> usize {
    let mut accepted = 0;
    loop {
        match pool.try_execute(|| ()) {
            Ok(()) => accepted += 1,
            Err(rejected) => {
                assert_eq!(rejected.reason(), Reason::Full);
                return accepted;
            }
        }
    }
}

/// A pool of one busy thread that is full.
pub(crate) fn full(builder: Builder, capacity: usize, policy: WhenFull) -> (Pool, Gate) {
    let (pool, gate) = busy(builder, capacity, policy);
    assert_eq!(fill(&pool), capacity);
    (pool, gate)
}

/// Every policy.
pub(crate) const POLICIES: [WhenFull; 6] = [
    WhenFull::Reject,
    WhenFull::Block,
    WhenFull::BlockFor(std::time::Duration::MAX),
    WhenFull::RunInCaller,
    WhenFull::DropOldest,
    WhenFull::DropNewest,
];

/// Accepted, returned, panicked, cancelled and evicted, after the pool has come to rest; nothing may be left.
pub(crate) fn at_rest(pool: &Pool) -> [u64; 5] {
    pool.wait_idle();
    let Metrics { accepted, returned, panicked, cancelled, evicted, queued, running, .. } =
        pool.metrics();
    assert_eq!((queued, running), (0, 0));
    assert_eq!(accepted, returned + panicked + cancelled);
    [accepted, returned, panicked, cancelled, evicted]
}
