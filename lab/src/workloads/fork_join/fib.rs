//! Fibonacci numbers without a cut-off: nothing but forks.

use super::Program;
use crate::target::fork::Tree;
use crate::workloads::prelude::*;

/// The number with this index.
pub(super) struct Fib {
    /// The index.
    index: u32,
    /// The number.
    answer: u64,
}

/// The joins for the number with this index.
pub(super) fn forks(index: u64) -> u64 {
    // The leaves less 1; there are as many leaves as the next number says.
    let (fib, _) = (0..=index).fold((0_u64, 1), |(a, b), _| (b, a + b));
    fib - 1
}

impl Program for Fib {
    fn prepare(size: usize) -> io::Result<Self> {
        Ok(Fib { index: size as u32, answer: 0 })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let index = self.index;
        self.answer = F::enter(outside, |context| fib::<F>(context, index));
    }

    fn answer(&self) -> u64 {
        self.answer
    }
}

/// The number with this index, by forks. As a [`Search`](super::search::Search) over [`Call`]s a fork of rayon took 10 % longer.
fn fib<F: ForkJoin>(context: &mut F::Context<'_>, index: u32) -> u64 {
    if index < 2 {
        return index.into();
    }
    let (a, b) = F::join(
        context,
        |context| fib::<F>(context, index - 1),
        |context| fib::<F>(context, index - 2),
    );
    a + b
}

/// A call of the function, by the argument, for pools whose tasks may not borrow.
#[derive(Clone, Copy)]
pub(super) struct Call(u32);

impl Tree for Call {
    fn of_size(size: usize) -> Self {
        Call(size as u32)
    }

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
