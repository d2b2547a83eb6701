//! The fork-join pools under test, and their table.

mod brigade;
mod chili;
mod forte;
mod rayon;
pub(crate) mod sequential;
pub(crate) mod tokio;

use crate::target::family;
use crate::target::fork::{self, VisitFork};

family! {
    /// Pools whose tasks fork and join.
    Forks: "fork-join pools", VisitFork => fork::offer;
    brigade::POOL,
    brigade::CALLER,
    sequential::CALLS,
    rayon::POOL,
    rayon::ON_BRIGADE,
    chili::POOL,
    forte::POOL,
    tokio::RUNTIME,
}
