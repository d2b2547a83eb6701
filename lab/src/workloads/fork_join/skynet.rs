//! The skynet benchmark: a tree of ten children a node, whose leaves return their numbers.

use std::io;

use super::{Program, TreeProgram};
use crate::target::fork::{ForkJoin, Tree};

/// Children of a node.
const WIDTH: u32 = 10;

/// The sum of the numbers of all leaves.
pub(super) struct Skynet {
    /// Levels below the root.
    levels: u32,
    /// The sum.
    answer: u64,
}

/// The joins for this many levels: nine for each node that has children.
pub(super) fn forks(levels: u64) -> u64 {
    u64::from(WIDTH).pow(levels as u32) - 1
}

impl Program for Skynet {
    fn prepare(size: usize) -> io::Result<Self> {
        Ok(Skynet { levels: size as u32, answer: 0 })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let root = self.root();
        self.answer = F::enter(outside, |context| sum::<F>(context, root));
    }

    fn answer(&self) -> u64 {
        self.answer
    }
}

/// The sum of what is below this node.
fn sum<F: ForkJoin>(context: &mut F::Context<'_>, node: Node) -> u64 {
    match node.width() {
        0 => node.value(),
        width => children::<F>(context, node, 0, width),
    }
}

/// The sum of what is below the children with these numbers, of which there is one at least: joins over halves.
fn children<F: ForkJoin>(context: &mut F::Context<'_>, parent: Node, from: u32, to: u32) -> u64 {
    if to - from == 1 {
        return sum::<F>(context, parent.child(from));
    }
    let middle = from + (to - from) / 2;
    let (a, b) = F::join(
        context,
        |context| children::<F>(context, parent, from, middle),
        |context| children::<F>(context, parent, middle, to),
    );
    a + b
}

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The number of its first leaf.
    number: u64,
    /// Levels below it.
    levels: u32,
}

impl Tree for Node {
    fn value(self) -> u64 {
        if self.levels == 0 { self.number } else { 0 }
    }

    fn width(self) -> u32 {
        if self.levels == 0 { 0 } else { WIDTH }
    }

    fn child(self, index: u32) -> Self {
        let levels = self.levels - 1;
        let leaves = u64::from(WIDTH).pow(levels);
        Node { number: self.number + u64::from(index) * leaves, levels }
    }
}

impl TreeProgram for Skynet {
    type Node = Node;

    fn root(&self) -> Node {
        Node { number: 0, levels: self.levels }
    }

    fn answered(&mut self, sum: u64) {
        self.answer = sum;
    }
}
