//! Pairs, made in parallel, collected into a table by one thread, and changed and summed in parallel, as programs on the parallel
//! iterators of hash tables do.

use std::collections::HashMap;

use super::{CHUNKS, Program, each, fingerprint};
use crate::workloads::prelude::*;

/// Rounds of a run, of three loops and a collection each.
pub(super) const ROUNDS: u64 = 20;

/// The pairs, and their table.
pub(super) struct Collect {
    pairs: Vec<(u64, u64)>,
    table: HashMap<u64, u64>,
    /// A sum for each chunk.
    sums: [u64; CHUNKS],
}

impl Program for Collect {
    fn prepare(size: usize) -> io::Result<Self> {
        let table = HashMap::with_capacity(size);
        Ok(Collect { pairs: vec![(0, 0); size], table, sums: [0; CHUNKS] })
    }

    fn reset(&mut self) {
        self.sums = [0; CHUNKS];
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let Self { pairs, table, sums } = self;
        let length = pairs.len().div_ceil(CHUNKS);
        for round in 0..ROUNDS {
            each::<F, _>(outside, pairs, length, |index, pairs| {
                make(round, index * length, pairs);
            });
            table.clear();
            table.extend(pairs.iter().copied());
            each::<F, _>(outside, pairs, length, |_, pairs| turn(pairs));
            let chunks: Vec<_> = pairs.chunks(length).collect();
            each::<F, _>(outside, sums, 1, |index, sum| {
                // There may be fewer than sums.
                let chunk: &[_] = chunks.get(index).copied().unwrap_or_default();
                let all = chunk.iter().map(|(key, value)| table[key].wrapping_add(*value));
                sum[0] = all.fold(sum[0], u64::wrapping_add);
            });
        }
    }

    fn answer(&self) -> u64 {
        fingerprint(self.sums)
    }
}

/// Makes the pairs from a number on. This and the next have the same machine code for all pools.
#[inline(never)]
fn make(round: u64, from: usize, pairs: &mut [(u64, u64)]) {
    for (pair, number) in pairs.iter_mut().zip(from as u64..) {
        *pair = (number.wrapping_mul(0x9E37_79B9), number ^ round);
    }
}

#[inline(never)]
fn turn(pairs: &mut [(u64, u64)]) {
    pairs.iter_mut().for_each(|(_, value)| *value = value.rotate_left(3) ^ 5);
}
