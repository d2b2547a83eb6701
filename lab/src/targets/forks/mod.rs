//! The fork-join pools under test, and their table.

mod brigade;
mod chili;
mod forte;
mod jobs;
mod loops;
mod rayon;
pub(crate) mod sequential;
mod tokio;

use self::sequential::Sequential;
use crate::target::fork::VisitFork;
use crate::target::{Class, Entry, family};

/// Whether this target is a program in another language, which has some of the programs.
pub(crate) fn is_foreign(target: &Entry) -> bool {
    ["go", "cpp"].contains(&target.name)
}

/// Whether it is there to compare the ways in which a task waits for ten children: for skynet.
pub(crate) fn is_for_skynet(target: &Entry) -> bool {
    ["tokio-join-set", "brigade-submit", "brigade-task-set"].contains(&target.name)
}

/// Whether it has loops and no tasks that fork: for short loops.
pub(crate) fn has_only_loops(target: &Entry) -> bool {
    ["paralight", "fork-union"].contains(&target.name)
}

/// Whether a task may add tasks that end with a scope.
pub(crate) fn has_scopes(target: &Entry) -> bool {
    target.name != "chili"
}

/// Whether the target's tasks may borrow. If not, it runs trees whose nodes are known singly.
pub(crate) fn may_borrow(target: &Entry) -> bool {
    target.name != "tokio" && !is_for_skynet(target)
}

family! {
    /// Pools whose tasks fork and join.
    Forks: "fork-join pools", VisitFork;
    own("brigade", "join, scope and loops inside a pool") => visit(brigade::start);
    // A single thread, whatever the number of threads.
    own("sequential", "no pool: a fork is a call").with_threads(|_, _| 0) => visit(|_| Ok(Sequential));
    peer("rayon", "rayon: join, scope and parallel iterators in a pool of its own") => visit(rayon::start);
    // rayon's front on brigade: `crates/rayon-core` in place of rayon-core. This is a choice for a whole program, built by
    // `ci/lab.sh rayon`.
    own("brigade-rayon", "rayon's join, scope and parallel iterators on brigade")
        .elsewhere("brigade-lab-rayon", "rayon");
    peer("chili", "chili: join, offered to other threads by a heartbeat")
        .of(Class::Caller).with_threads(|threads, _| threads + 1)
        => visit(chili::start);
    peer("forte", "forte: join and scope, offered to other threads by a heartbeat")
        .of(Class::Caller).with_threads(|threads, _| threads + 1)
        => visit(forte::start);
    peer("paralight", "paralight: a parallel iterator").of(Class::Caller)
        => visit(loops::paralight);
    #[cfg(feature = "full")]
    peer("fork-union", "fork_union: a loop of threads that spin").of(Class::Caller)
        => visit(loops::fork_union);
    peer("tokio", "tokio: a task spawns its children and awaits them")
        => visit_spawning(|n| tokio::start(n, false));
    peer("tokio-join-set", "tokio: a task has its children in a JoinSet").further()
        => visit_spawning(|n| tokio::start(n, true));
    // It counts as a peer: so the table has the ratio of a set to it.
    peer("brigade-submit", "brigade: a job submits its children and joins them").further()
        => visit_spawning(|n| jobs::start(n, false));
    own("brigade-task-set", "a job has its children in a TaskSet").further()
        => visit_spawning(|n| jobs::start(n, true));
    peer("go", "Go: goroutines, for fib, skynet and nqueens-scope").elsewhere("brigade-lab-go", "go");
    peer("cpp", "oneTBB: parallel_invoke and task_group, for the same")
        .of(Class::Caller).elsewhere("brigade-lab-cpp", "cpp");
}
