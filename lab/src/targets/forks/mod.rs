//! The fork-join pools under test, and their table.

mod brigade;
mod chili;
mod forte;
mod jobs;
mod loops;
mod rayon;
pub(crate) mod sequential;
mod spawning;
mod tokio;

use self::sequential::Sequential;
use crate::target::fork::VisitFork;
use crate::target::{Class, family};

/// Whether it is a tree with nodes known singly, and tasks that need not borrow.
fn is_tree(program: &str) -> bool {
    is_foreign(program) || program == "uts"
}

/// Whether the programs in other languages have it.
fn is_foreign(program: &str) -> bool {
    ["fib", "nqueens-scope", "skynet"].contains(&program)
}

family! {
    /// Pools whose tasks fork and join.
    Forks: VisitFork;
    own("brigade", "join, scope and loops inside a pool") => visit(brigade::start);
    // A single thread, whatever the number of threads.
    own("sequential", "no pool: a fork is a call").with_threads(|_, _| 0).only(|program| program != "steal")
        => visit(|_| Ok(Sequential));
    peer("rayon", "rayon: join, scope and parallel iterators in a pool of its own") => visit(rayon::start);
    // rayon's front on brigade: `crates/rayon-core` in place of rayon-core. This is a choice for a whole program, built by
    // `ci/lab.sh rayon`.
    own("brigade-rayon", "rayon's join, scope and parallel iterators on brigade")
        .elsewhere("brigade-lab-rayon", "rayon");
    // Without scopes.
    peer("chili", "chili: join, offered to other threads by a heartbeat")
        .of(Class::Caller).with_threads(|threads, _| threads + 1).only(|program| !["nqueens-scope", "uts"].contains(&program))
        => visit(chili::start);
    peer("forte", "forte: join and scope, offered to other threads by a heartbeat")
        .of(Class::Caller).with_threads(|threads, _| threads + 1)
        => visit(forte::start);
    peer("paralight", "paralight: a parallel iterator").of(Class::Caller).only(|program| program == "short")
        => visit(loops::paralight);
    #[cfg(feature = "full")]
    peer("fork-union", "fork_union: a loop of threads that spin").of(Class::Caller).only(|program| program == "short")
        => visit(loops::fork_union);
    peer("tokio", "tokio: a task spawns its children and awaits them").only(is_tree)
        => visit(|n| tokio::start(n, false));
    // These three compare the ways in which a task waits for ten children.
    peer("tokio-join-set", "tokio: a task has its children in a JoinSet").further().only(|program| program == "skynet")
        => visit(|n| tokio::start(n, true));
    // It counts as a peer: so the table has the ratio of a set to it.
    peer("brigade-submit", "brigade: a job submits its children and joins them").further().only(|program| program == "skynet")
        => visit(|n| jobs::start(n, false));
    own("brigade-task-set", "a job has its children in a TaskSet").further().only(|program| program == "skynet")
        => visit(|n| jobs::start(n, true));
    peer("go", "Go: goroutines, for fib, skynet and nqueens-scope").elsewhere("brigade-lab-go", "go").only(is_foreign);
    peer("cpp", "oneTBB: parallel_invoke and task_group, for the same")
        .of(Class::Caller).elsewhere("brigade-lab-cpp", "cpp").only(is_foreign);
}
