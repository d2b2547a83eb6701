//! Pools whose tasks may not borrow: for trees.

use crate::tally::Tally;
use crate::target::fork::{ForkJoin, Tree};

/// A pool whose tasks may not borrow. It ends with the owner.
pub(crate) trait Spawning: 'static {
    /// Visits all nodes of the tree, with a task for each, which waits for the children, and returns the sum of their values.
    fn fold<T: Tree>(&self, root: T) -> u64;
}

/// Such a pool as one that explores trees.
pub(crate) struct TreesOnly<P>(pub(super) P);

impl<P: Spawning> ForkJoin for TreesOnly<P> {
    type Outside<'o> = &'o P;
    type Context<'c> = &'c P;

    const BORROWS: bool = false;

    fn attach<R>(&self, body: impl FnOnce(&mut &P) -> R) -> R {
        body(&mut &self.0)
    }

    fn enter<R: Send>(pool: &mut &P, root: impl FnOnce(&mut &P) -> R + Send) -> R {
        root(pool)
    }

    fn explore<T: Tree>(pool: &mut &P, root: T, answer: &'static Tally) {
        answer.add([pool.fold(root)].into_iter().collect());
    }
}
