//! forte: a separate pool, with the waiting thread as a worker. Joins and scopes, and no loops.

use std::io;

use forte::{Scope, ThreadPool, Worker};

use crate::tally::Tally;
use crate::target::fork::{ForkJoin, Tree};

/// Starts the pool, and its heartbeat thread.
pub(super) fn start(threads: usize) -> io::Result<Forte> {
    // forte's pools are statics: a pool is leaked for each run, without threads.
    let pool: &'static ThreadPool = Box::leak(Box::new(ThreadPool::new()));
    pool.resize_to(threads - 1);
    Ok(Forte(pool))
}

/// A forte pool.
pub(crate) struct Forte(&'static ThreadPool);

impl ForkJoin for Forte {
    type Outside<'o> = &'o Worker;
    type Context<'c> = &'c Worker;

    fn attach<R>(&self, body: impl FnOnce(&mut &Worker) -> R) -> R {
        self.0.with_worker(|mut worker| body(&mut worker))
    }

    fn enter<R: Send>(outside: &mut &Worker, root: impl FnOnce(&mut &Worker) -> R + Send) -> R {
        root(outside)
    }

    #[inline]
    fn join<A: Send, B: Send>(
        worker: &mut &Worker,
        a: impl FnOnce(&mut &Worker) -> A + Send,
        b: impl FnOnce(&mut &Worker) -> B + Send,
    ) -> (A, B) {
        worker.join(|mut worker| a(&mut worker), |mut worker| b(&mut worker))
    }

    fn explore<T: Tree>(worker: &mut &Worker, root: T, answer: &'static Tally) {
        worker.scope(|scope| visit(scope, root, answer));
    }

    // The threads idle until the process ends. To shrink a pool is to wait for the heartbeat thread while holding a
    // lock it takes: in this version a deadlock.
}

/// Counts `node` and spawns a task for each child.
fn visit<T: Tree>(scope: &Scope<'_>, node: T, answer: &'static Tally) {
    node.count(answer);
    for child in node.children() {
        scope.spawn(move |scope| visit(scope, child, answer));
    }
}
