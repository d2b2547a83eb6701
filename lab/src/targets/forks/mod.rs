//! The fork-join pools under test, and their table.
//!
//! `brigade.rs` is not in it yet: it is written for `join`, `scope` and the loops, which the library does not have so far.

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
    sequential::CALLS,
    rayon::POOL,
    chili::POOL,
    forte::POOL,
    tokio::RUNTIME,
}
