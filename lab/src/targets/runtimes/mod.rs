//! The runtimes of futures, and threads that do the same, and the table.

mod brigade;
mod executors;
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

/// Goroutines, in a program of their own.
pub(crate) const GO: Entry =
    Entry::peer("go", "Go: goroutines, for bucket-brigade over channels and creation")
        .elsewhere("brigade-lab-go", "go");

family! {
    /// Runtimes of futures, and threads that do the same.
    Runtimes: "runtimes, for bucket-brigade, creation, memory, echo, busy-io, timers, channels and server",
        VisitRuntime => VisitRuntime::visit, and FLOOR, and GO, and #[cfg(target_os = "linux")] EPOLL;
    brigade::DEFAULT,
    brigade::ONE_THREAD,
    brigade::LIFO,
    tokio::MULTI_THREAD,
    tokio::CURRENT_THREAD,
    smol::EXECUTOR,
    executors::CHANNEL,
    executors::STEALING,
    executors::BRIGADE_CHANNEL,
    executors::BRIGADE_STEALING,
    threads::EACH,
}

/// Whether this target has tasks that are futures: one that has not is a thread for each task, or one thread without tasks.
pub(crate) fn has_tasks(target: &Entry) -> bool {
    runs_futures(target) && !target.is(&threads::EACH.entry)
}

/// Whether this target runs futures at all, be it one on each thread: one that does not has a line of pipes and nothing else.
pub(crate) fn runs_futures(target: &Entry) -> bool {
    !target.is(&FLOOR) && !target.is(&EPOLL) && !target.is(&GO)
}

#[cfg(test)]
mod tests;
