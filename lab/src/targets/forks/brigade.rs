//! brigade: a pool, and the free functions inside it, or, for short loops, on the thread that waits.

use std::io;

use brigade::{Pool, Scope};

use crate::tally::Tally;
use crate::target::fork::{ChunkFn, ForkJoin, IndexFn, Tree};

/// Starts a fixed pool.
pub(super) fn start(threads: usize) -> io::Result<Brigade> {
    Pool::builder().threads(threads).build().map(Brigade)
}

/// A brigade pool.
pub(crate) struct Brigade(Pool);

impl ForkJoin for Brigade {
    type Outside<'o> = &'o Pool;
    type Context<'c> = ();

    fn attach<R>(&self, body: impl FnOnce(&mut &Pool) -> R) -> R {
        body(&mut &self.0)
    }

    fn enter<R: Send>(pool: &mut &Pool, root: impl FnOnce(&mut ()) -> R + Send) -> R {
        let ran = pool.install(|| root(&mut ()));
        ran.unwrap_or_else(|_| unreachable!("the pool is open"))
    }

    fn for_each_below(pool: &mut &Pool, count: usize, grain: usize, work: impl IndexFn) {
        pool.enter(|| brigade::par_for(0..count, grain, work));
    }

    #[inline]
    fn join<A: Send, B: Send>(
        (): &mut (),
        a: impl FnOnce(&mut ()) -> A + Send,
        b: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        brigade::join(|| a(&mut ()), || b(&mut ()))
    }

    fn explore<T: Tree>(_: &mut (), root: T, answer: &'static Tally) {
        brigade::scope(|scope| visit(scope, root, answer));
    }

    fn for_each_chunk<T: Send>(_: &mut (), items: &mut [T], length: usize, work: impl ChunkFn<T>) {
        brigade::par_chunks_mut(items, length, work);
    }
}

/// Counts `node` and spawns a task for each child.
fn visit<'scope, T: Tree>(scope: &'scope Scope<'scope, '_>, node: T, answer: &'static Tally) {
    node.count(answer);
    for child in node.children() {
        scope.execute(move || visit(scope, child, answer));
    }
}
