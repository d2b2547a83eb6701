//! The skynet benchmark: a tree of ten children a node, whose leaves return their numbers.

use crate::target::fork::Tree;

/// Children of a node.
const WIDTH: u32 = 10;

/// The joins for this many levels: nine for each inner node.
pub(super) fn forks(levels: u64) -> u64 {
    u64::from(WIDTH).pow(levels as u32) - 1
}

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The number of the first leaf.
    number: u64,
    /// Levels below it.
    levels: u32,
}

impl Tree for Node {
    fn of_size(size: usize) -> Self {
        Node { number: 0, levels: size as u32 }
    }

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
