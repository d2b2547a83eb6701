//! The handovers under test, and their table.

mod brigade;
mod burst_pools;
mod crossbeam;
mod spmc;

use crossbeam_channel::{bounded, unbounded};

use crate::target::family;
use crate::target::handover::VisitHandover;

family! {
    /// Channels to waiting threads, and pools used as such.
    Handovers: VisitHandover;
    own("brigade-burst", "brigade-burst: Sender::burst") => visit(brigade::burst);
    own("brigade-pool", "the default pool: dispatch") => visit(brigade::pool);
    #[cfg(feature = "full")]
    own("brigade-burst-pool", "burst-pool's interface on brigade").further() => visit(burst_pools::brigade_burst_pool);
    #[cfg(target_os = "linux")]
    peer("burst-pool", "burst-pool: enqueue, wake_all") => visit(burst_pools::burst_pool);
    peer("spmc", "spmc: unbounded") => visit(spmc::start);
    // All values are queued.
    peer("crossbeam-channel", "crossbeam-channel: unbounded")
        => visit(|n, inbox| crossbeam::start(unbounded(), n, inbox));
    // A value is received at once or returned.
    peer("crossbeam-channel-0", "crossbeam-channel: bounded(0), try_send").further()
        => visit(|n, inbox| crossbeam::start(bounded(0), n, inbox));
}

#[cfg(test)]
mod tests;
