//! rayon: a separate pool, and the free functions and parallel iterators inside it.

use std::io;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::tally::Tally;
use crate::target::fork::{ChunkFn, ForkJoin, IndexFn, Tree};

/// Starts the pool.
pub(super) fn start(threads: usize) -> io::Result<Rayon> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map(Rayon).map_err(io::Error::other)
}

/// A rayon pool.
pub(crate) struct Rayon(ThreadPool);

impl ForkJoin for Rayon {
    type Outside<'o> = &'o ThreadPool;
    type Context<'c> = ();

    fn attach<R>(&self, body: impl FnOnce(&mut &ThreadPool) -> R) -> R {
        body(&mut &self.0)
    }

    fn enter<R: Send>(pool: &mut &ThreadPool, root: impl FnOnce(&mut ()) -> R + Send) -> R {
        pool.install(|| root(&mut ()))
    }

    fn for_each_below(pool: &mut &ThreadPool, count: usize, grain: usize, work: impl IndexFn) {
        pool.install(|| (0..count).into_par_iter().with_min_len(grain).for_each(work));
    }

    #[inline]
    fn join<A: Send, B: Send>(
        (): &mut (),
        a: impl FnOnce(&mut ()) -> A + Send,
        b: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }

    fn explore<T: Tree>(_: &mut (), root: T, answer: &'static Tally) {
        rayon::scope(|scope| visit(scope, root, answer));
    }

    fn for_each_chunk<T: Send>(_: &mut (), items: &mut [T], length: usize, work: impl ChunkFn<T>) {
        items.par_chunks_mut(length).enumerate().for_each(|(index, chunk)| work(index, chunk));
    }

    // The threads end some time later: rayon has no way to wait for them.
}

/// Counts `node` and spawns a task for each child.
fn visit<T: Tree>(scope: &Scope<'_>, node: T, answer: &'static Tally) {
    node.count(answer);
    for child in node.children() {
        scope.spawn(move |scope| visit(scope, child, answer));
    }
}
