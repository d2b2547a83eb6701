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
const GO: Entry = Entry::peer("go", "Go: goroutines, for fib, skynet and nqueens")
    .elsewhere("brigade-lab-go", "go");

/// oneTBB, in a program of its own.
const CPP: Entry = Entry::peer("cpp", "oneTBB: parallel_invoke and task_group, for the same")
    .elsewhere("brigade-lab-cpp", "cpp");

/// Whether this target is a program in another language, which has some of the programs.
pub(crate) fn is_foreign(target: &Entry) -> bool {
    target.is(&GO) || target.is(&CPP)
}

family! {
    /// Pools whose tasks fork and join.
    Forks: "fork-join pools", VisitFork => fork::offer, and GO, and CPP;
    brigade::POOL,
    brigade::CALLER,
    sequential::CALLS,
    rayon::POOL,
    rayon::ON_BRIGADE,
    chili::POOL,
    forte::POOL,
    tokio::RUNTIME,
}
