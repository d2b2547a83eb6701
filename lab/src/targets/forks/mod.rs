//! The fork-join pools under test, and their table.

mod brigade;
mod chili;
mod forte;
mod jobs;
mod rayon;
pub(crate) mod sequential;
mod tokio;

use crate::target::fork::{self, VisitFork};
use crate::target::{Class, Entry, family};

/// Goroutines, in a program of their own.
const GO: Entry = Entry::peer("go", "Go: goroutines, for fib, skynet and nqueens")
    .elsewhere("brigade-lab-go", "go");

/// oneTBB, in a program of its own.
const CPP: Entry = Entry::peer("cpp", "oneTBB: parallel_invoke and task_group, for the same")
    .of(Class::Caller)
    .elsewhere("brigade-lab-cpp", "cpp");

/// Whether this target is a program in another language, which has some of the programs.
pub(crate) fn is_foreign(target: &Entry) -> bool {
    target.is(&GO) || target.is(&CPP)
}

/// Whether it is there to compare the ways in which a task waits for ten children: for skynet.
pub(crate) fn is_for_skynet(target: &Entry) -> bool {
    let those = [&tokio::JOIN_SET.entry, &jobs::SUBMIT.entry, &jobs::TASK_SET.entry];
    those.iter().any(|other| target.is(other))
}

/// Whether its tasks may borrow. Those that may not have trees whose nodes are known one by one.
pub(crate) fn may_borrow(target: &Entry) -> bool {
    !target.is(&tokio::RUNTIME.entry) && !is_for_skynet(target)
}

family! {
    /// Pools whose tasks fork and join.
    Forks: "fork-join pools", VisitFork => fork::offer, and GO, and CPP;
    brigade::POOL,
    sequential::CALLS,
    rayon::POOL,
    rayon::ON_BRIGADE,
    chili::POOL,
    forte::POOL,
    tokio::RUNTIME,
    tokio::JOIN_SET,
    jobs::SUBMIT,
    jobs::TASK_SET,
}
