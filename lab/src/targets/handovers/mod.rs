//! The handovers under test, and their table.

mod brigade;
#[cfg(target_os = "linux")]
mod burst_pool;
mod crossbeam;
mod spmc;

use crate::target::family;
use crate::target::handover::VisitHandover;

family! {
    /// Channels to waiting threads, and pools that are used as such.
    Handovers: "handovers, for burst", VisitHandover => VisitHandover::visit;
    brigade::BURST,
    brigade::POOL,
    #[cfg(target_os = "linux")]
    burst_pool::CHANNEL,
    spmc::CHANNEL,
    crossbeam::UNBOUNDED,
    crossbeam::ZERO,
}

#[cfg(test)]
mod tests;
