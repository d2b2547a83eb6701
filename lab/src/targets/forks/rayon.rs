//! rayon: a pool of its own, and the free functions and parallel iterators inside it.

use std::io;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::tally::Tally;
use crate::target::fork::{ForkJoin, Start, Tree};
use crate::target::{Entry, Listing};

/// The pool.
pub(crate) const POOL: Listing<Start<Rayon>> = Listing {
    entry: Entry::peer("rayon", "rayon: join, scope and parallel iterators in a pool of its own"),
    start: |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Rayon).map_err(io::Error::other)
    },
};

/// rayon's front on brigade: `crates/rayon-core` in place of rayon-core. That is a choice for a whole program, so another runs it:
/// this one, built by `ci/lab.sh rayon`, whose rayon is that.
pub(crate) const ON_BRIGADE: Listing<Start<Rayon>> = Listing {
    entry: Entry::own("brigade-rayon", "rayon's join, scope and parallel iterators on brigade")
        .elsewhere("brigade-lab-rayon", "rayon"),
    start: POOL.start,
};

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

    #[inline]
    fn join<A, B, RA, RB>((): &mut (), a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }

    fn explore<T: Tree>(_: &mut (), root: T, answer: &'static Tally) {
        rayon::scope(|scope| visit(scope, root, answer));
    }

    fn for_each(_: &mut (), count: usize, work: impl Fn(usize) + Send + Sync) {
        (0..count).into_par_iter().for_each(work);
    }

    fn for_each_chunk<T: Send>(
        _: &mut (),
        items: &mut [T],
        length: usize,
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        items.par_chunks_mut(length).enumerate().for_each(|(index, chunk)| work(index, chunk));
    }

    // Its threads end some time later: rayon has no way to wait for them.
}

/// Counts `node` and spawns a task for each of its children.
fn visit<T: Tree>(scope: &Scope<'_>, node: T, answer: &'static Tally) {
    node.count(answer);
    for index in 0..node.width() {
        let child = node.child(index);
        scope.spawn(move |scope| visit(scope, child, answer));
    }
}
