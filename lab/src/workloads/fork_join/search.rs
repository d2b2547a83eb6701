//! A tree as a program: a task for each node, in one scope.

use super::{Program, TreeProgram};
use crate::target::fork::Tree;
use crate::workloads::prelude::*;

/// A node that a tree may begin with.
pub(super) trait Root: Tree {
    /// The root of the tree of this size.
    fn new(size: usize) -> Self;
}

/// The sum of the values of all nodes.
pub(super) struct Search<T> {
    /// The first of them.
    root: T,
    /// The sum.
    answer: u64,
}

impl<T: Root> Program for Search<T> {
    fn prepare(size: usize) -> io::Result<Self> {
        Ok(Search { root: T::new(size), answer: 0 })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let (root, answer) = (self.root, Tally::leak());
        F::enter(outside, |context| F::explore(context, root, answer));
        self.answer = answer.prints();
        // All tasks have ended, by the word of the pool. If one has not, this answer is wrong already.
        answer.retire();
    }

    fn answer(&self) -> u64 {
        self.answer
    }
}

impl<T: Root> TreeProgram for Search<T> {
    type Node = T;

    fn root(&self) -> T {
        self.root
    }

    fn answered(&mut self, sum: u64) {
        self.answer = sum;
    }
}

/// The value of a node that counts, and of one that is also what is searched for.
pub(super) fn counted(found: bool) -> u64 {
    // The nodes are in the upper half of the answer.
    (1 << 32) + u64::from(found)
}
