//! Fibonacci numbers without a cut-off: nothing but forks.

use super::search::Root;
use crate::target::fork::Tree;

/// The joins that the number with this index takes.
pub(super) fn forks(index: u64) -> u64 {
    // One less than the leaves, of which there are as many as the next number says.
    let (fib, _) = (0..=index).fold((0_u64, 1), |(a, b), _| (b, a + b));
    fib - 1
}

/// A call of the function, by its argument.
#[derive(Clone, Copy)]
pub(super) struct Call(u32);

impl Root for Call {
    const JOINS: bool = true;

    fn new(size: usize) -> Self {
        Call(size as u32)
    }
}

impl Tree for Call {
    fn value(self) -> u64 {
        if self.0 < 2 { self.0.into() } else { 0 }
    }

    fn width(self) -> u32 {
        if self.0 < 2 { 0 } else { 2 }
    }

    fn child(self, index: u32) -> Self {
        Call(self.0 - 1 - index)
    }
}
