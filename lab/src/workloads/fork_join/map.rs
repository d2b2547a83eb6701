//! Maps over a square of numbers, and sums of it: loops of 20 to 500 µs in turn, as in programs on ndarray's parallel iterators.

use super::{CHUNKS, Program, each, fingerprint};
use crate::workloads::prelude::*;

/// Rounds of a run, of four loops each.
pub(super) const ROUNDS: u64 = 50;

/// Two squares.
pub(super) struct Map {
    from: Vec<f64>,
    to: Vec<f64>,
    /// A sum for each chunk.
    sums: [f64; CHUNKS],
}

impl Program for Map {
    fn prepare(size: usize) -> io::Result<Self> {
        let from = (0..size * size).map(|index| (index % 97) as f64 / 97.0).collect();
        Ok(Map { from, to: vec![0.0; size * size], sums: [0.0; CHUNKS] })
    }

    fn reset(&mut self) {
        self.to.fill(0.0);
        self.sums = [0.0; CHUNKS];
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let Self { from, to, sums } = self;
        let length = from.len().div_ceil(CHUNKS);
        for _ in 0..ROUNDS {
            each::<F, _>(outside, to, length, |index, to| add_roots(&from[index * length..], to));
            each::<F, _>(outside, to, length, |_, to| to.iter_mut().for_each(|to| *to *= 1.0001));
            let (from, to) = (from.chunks(length), to.chunks(length));
            let chunks: Vec<_> = from.zip(to).collect();
            // There may be fewer than sums.
            let chunk = |index| chunks.get(index).copied().unwrap_or_default();
            each::<F, _>(outside, sums, 1, |index, sum| sum[0] += product(chunk(index)));
            each::<F, _>(outside, sums, 1, |index, sum| sum[0] += total(chunk(index).1));
        }
    }

    fn answer(&self) -> u64 {
        fingerprint(self.to.iter().chain(&self.sums).map(|number| number.to_bits()))
    }
}

/// These three have the same machine code for all pools.
#[inline(never)]
fn add_roots(from: &[f64], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *to * 0.5 + from.exp().sqrt());
}

#[inline(never)]
fn product((from, to): (&[f64], &[f64])) -> f64 {
    from.iter().zip(to).map(|(from, to)| from * to).sum()
}

#[inline(never)]
fn total(numbers: &[f64]) -> f64 {
    numbers.iter().sum()
}
