//! Asks every worker of a pool at once, which also shows that it has as many as it says.

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};

use brigade::Pool;

/// Runs `ask` once on each worker and returns the answers.
pub(crate) fn on_every_worker<T, F>(pool: &Pool, ask: F) -> Vec<T>
where
    T: Send + 'static,
    F: Fn() -> T + Copy + Send + 'static,
{
    let all_there = Arc::new(Barrier::new(*pool.size().end()));
    let answers: Vec<_> = (0..*pool.size().end())
        .map(|_| {
            let all_there = Arc::clone(&all_there);
            pool.submit(move || {
                all_there.wait();
                ask()
            })
        })
        .collect();
    answers.into_iter().map(|answer| answer.join().unwrap()).collect()
}

/// The threads of the pool.
pub(crate) fn thread_ids(pool: &Pool) -> HashSet<ThreadId> {
    let ids: HashSet<_> = on_every_worker(pool, || thread::current().id()).into_iter().collect();
    assert_eq!(ids.len(), *pool.size().end(), "as many threads as workers");
    ids
}
