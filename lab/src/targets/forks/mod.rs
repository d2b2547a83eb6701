//! The fork-join pools under test, and their table.

mod brigade;
mod chili;
mod forte;
mod rayon;
pub(crate) mod sequential;
pub(crate) mod tokio;

use crate::target::fork::{self, VisitFork};
use crate::target::{Entry, family};

/// Goroutines, in a program of their own.
pub(crate) const GO: Entry =
    Entry::peer("go", "Go: a goroutine for each fork, for fib").elsewhere("brigade-lab-go", "go");

family! {
    /// Pools whose tasks fork and join.
    Forks: "fork-join pools", VisitFork => fork::offer, and GO;
    brigade::POOL,
    brigade::CALLER,
    sequential::CALLS,
    rayon::POOL,
    rayon::ON_BRIGADE,
    chili::POOL,
    forte::POOL,
    tokio::RUNTIME,
}
