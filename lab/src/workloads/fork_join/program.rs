//! The trait of the programs.

use std::io;

use crate::target::fork::{ForkJoin, Tree};

/// A program, its input and its last answer.
pub(super) trait Program: Send + Sized {
    /// Makes the input for this size; it is not timed.
    fn prepare(size: usize) -> io::Result<Self>;

    /// Makes the input as it was before the first run; it is not timed either.
    fn reset(&mut self) {}

    /// Runs once, from a thread outside.
    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>);

    /// The answer of the last run, or a fingerprint of it.
    fn answer(&self) -> u64;
}

/// A program whose tasks need not borrow.
pub(super) trait TreeProgram: Program {
    /// Its nodes.
    type Node: Tree;

    /// The first of them.
    fn root(&self) -> Self::Node;

    /// Takes the answer of a pool that returns the sum of the values.
    fn answered(&mut self, sum: u64);
}

/// A fingerprint of these words in this order.
pub(super) fn fingerprint(words: impl IntoIterator<Item = u64>) -> u64 {
    // The multiplier is that of FNV-1a, for 64 bits.
    words.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(5)
    })
}
