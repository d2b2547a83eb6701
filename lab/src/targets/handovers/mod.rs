//! The handovers under test, and their table.

mod brigade;
mod burst_pools;
mod crossbeam;
mod spmc;

#[cfg(feature = "full")]
use self::burst_pools::brigade_burst_pool;
#[cfg(target_os = "linux")]
use self::burst_pools::burst_pool;

use crate::target::family;
use crate::target::handover::VisitHandover;

family! {
    /// Channels to waiting threads, and pools that are used as such.
    Handovers: "handovers, for burst", VisitHandover => VisitHandover::visit;
    brigade::BURST,
    brigade::POOL,
    #[cfg(feature = "full")] brigade_burst_pool::CHANNEL,
    #[cfg(target_os = "linux")]
    burst_pool::CHANNEL,
    spmc::CHANNEL,
    crossbeam::UNBOUNDED,
    crossbeam::ZERO,
}

#[cfg(test)]
mod tests;
