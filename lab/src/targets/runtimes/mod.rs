//! The runtimes of futures, and threads that do the same, and the table.

mod brigade;
mod executors;
#[cfg(all(feature = "full", target_os = "linux"))]
mod monoio;
mod smol;
pub(crate) mod threads;
mod tokio;

use crate::target::runtime::VisitRuntime;
use crate::target::{Entry, family};

/// No tasks at all: one thread does their reads and writes. That is the minimum, so it is no peer.
pub(crate) const FLOOR: Entry =
    Entry::own("floor", "one thread with the reads and writes of all, for bucket-brigade")
        .with_threads(|_, _| 0);

/// No tasks either: one thread waits for all pipes with epoll. It is no peer, and on Linux only.
pub(crate) const EPOLL: Entry =
    Entry::own("epoll", "one thread with a level-triggered epoll loop, for bucket-brigade")
        .with_threads(|_, _| 0);

/// Tasks of oneTBB, in a program of its own. They can't wait for a byte without a thread each, so it is not for bucket-brigade.
pub(crate) const CPP: Entry = Entry::peer("cpp", "oneTBB: tasks of a task_group, for creation")
    .elsewhere("brigade-lab-cpp", "cpp");

/// Goroutines, in a program of their own.
pub(crate) const GO: Entry =
    Entry::peer("go", "Go: goroutines, for bucket-brigade over channels and creation")
        .elsewhere("brigade-lab-go", "go");

family! {
    /// Runtimes of futures, and threads that do the same.
    Runtimes: "runtimes, for bucket-brigade, creation, memory, echo, busy-io, timers, channels and server",
        VisitRuntime => VisitRuntime::visit, and FLOOR, and GO, and CPP, and #[cfg(target_os = "linux")] EPOLL;
    brigade::DEFAULT,
    brigade::ONE_THREAD,
    brigade::LIFO,
    tokio::MULTI_THREAD,
    tokio::CURRENT_THREAD,
    #[cfg(all(feature = "full", target_os = "linux"))] monoio::ONE_THREAD,
    smol::EXECUTOR,
    executors::CHANNEL,
    executors::STEALING,
    #[cfg(feature = "full")] executors::BRIGADE_CHANNEL,
    #[cfg(feature = "full")] executors::BRIGADE_STEALING,
    threads::EACH,
}

/// Whether this target has tasks that are futures: one that has not is a thread for each task, or one thread without tasks.
pub(crate) fn has_tasks(target: &Entry) -> bool {
    spawns_anywhere(target) && !target.is(&threads::EACH.entry)
}

/// Whether this target runs futures that are spawned from any thread: one that does not has no more than reads, writes and tasks of its
/// one thread.
pub(crate) fn spawns_anywhere(target: &Entry) -> bool {
    runs_futures(target) && target.name != "monoio"
}

/// Whether this target runs futures at all, be it one on each thread: one that does not has a line of pipes and nothing else.
pub(crate) fn runs_futures(target: &Entry) -> bool {
    [FLOOR, EPOLL, GO, CPP].iter().all(|other| !target.is(other))
}

#[cfg(test)]
mod tests;
