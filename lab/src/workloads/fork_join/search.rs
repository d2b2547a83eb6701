//! A tree as a program: a task for each node, in a single scope, or joins.

use super::Program;
use crate::target::fork::Tree;
use crate::workloads::prelude::*;

/// The sum of the values of all nodes, which joins return if `JOINS` and the pool has them; otherwise a single scope has a task for each.
pub(super) struct Search<T, const JOINS: bool> {
    /// The first of them.
    root: T,
    /// The sum.
    answer: u64,
}

impl<T: Tree, const JOINS: bool> Program for Search<T, JOINS> {
    fn prepare(size: usize) -> io::Result<Self> {
        Ok(Search { root: T::of_size(size), answer: 0 })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let root = self.root;
        if JOINS && F::BORROWS {
            self.answer = F::enter(outside, |context| sum::<F, T>(context, root));
            return;
        }
        let answer = Tally::leak();
        F::enter(outside, |context| F::explore(context, root, answer));
        self.answer = answer.sum().prints;
        // All tasks have ended, by the word of the pool. If a task has not, this answer is wrong already.
        answer.retire();
    }

    fn answer(&self) -> u64 {
        self.answer
    }
}

/// The sum of the values of this node and of the nodes below it.
fn sum<F: ForkJoin, T: Tree>(context: &mut F::Context<'_>, node: T) -> u64 {
    match node.width() {
        0 => node.value(),
        width => node.value() + children::<F, T>(context, node, 0, width),
    }
}

/// The same of the children with these numbers, at least one: joins over halves.
fn children<F: ForkJoin, T: Tree>(
    context: &mut F::Context<'_>,
    parent: T,
    from: u32,
    to: u32,
) -> u64 {
    if to - from == 1 {
        return sum::<F, T>(context, parent.child(from));
    }
    let middle = from + (to - from) / 2;
    let (a, b) = F::join(
        context,
        |context| children::<F, T>(context, parent, from, middle),
        |context| children::<F, T>(context, parent, middle, to),
    );
    a + b
}

/// The value of a counted node, and of a node that is also a hit.
pub(super) fn counted(found: bool) -> u64 {
    // The nodes are in the upper half of the answer.
    (1 << 32) + u64::from(found)
}
