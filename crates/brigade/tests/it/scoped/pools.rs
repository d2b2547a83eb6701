//! Pools of every kind that forks and scopes must not tell apart.

use brigade::{Builder, Order, Pool, Queueing, WhenFull};
use brigade_testkit::{Gate, case};

use crate::support::full::at_rest;

fn builders() -> Vec<(String, Builder)> {
    let mut all = Vec::new();
    for threads in [1, 2, 8] {
        for queueing in [Queueing::Stealing, Queueing::Shared] {
            for order in [Order::Lifo, Order::Fifo] {
                let builder = Pool::builder().threads(threads).queueing(queueing).order(order);
                all.push((format!("{threads} {queueing:?} {order:?}"), builder));
            }
        }
    }
    for queueing in [Queueing::Stealing, Queueing::Shared] {
        let builder = || Pool::builder().queueing(queueing);
        all.push((format!("elastic {queueing:?}"), builder().threads(0..=4)));
        let full = builder().threads(2).capacity(1).when_full(WhenFull::RunInCaller);
        all.push((format!("bounded {queueing:?}"), full));
    }
    all
}

/// Runs `claim` with a pool of each kind, which then must be at rest with all jobs accounted for; a failure names it.
pub(crate) fn for_every_pool(claim: impl Fn(&Pool)) {
    for (name, builder) in builders() {
        let pool = builder.build().unwrap();
        case(&name, || {
            claim(&pool);
            at_rest(&pool);
        });
    }
}

/// Joins two closures, of which the second is begun by another worker before the first does anything. On a pool of one thread,
/// that is a spare one.
pub(crate) fn join_stolen<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let begun = Gate::closed();
    brigade::join(
        || {
            brigade::blocking(|| begun.wait());
            a()
        },
        || {
            begun.open();
            b()
        },
    )
}
