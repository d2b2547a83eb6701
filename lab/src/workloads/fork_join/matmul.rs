//! The product of two square matrices: a chunk is some rows of it.

use super::{Program, each, fingerprint};
use crate::workloads::prelude::*;

/// Rows of a chunk.
const ROWS: usize = 16;
/// Rows of the second matrix read together, so they stay in the cache.
const BLOCK: usize = 64;

/// The product.
pub(super) struct Matmul {
    /// Rows, and columns.
    size: usize,
    /// The first matrix, row by row.
    a: Vec<f64>,
    /// The other.
    b: Vec<f64>,
    /// The product.
    product: Vec<f64>,
}

/// The chunks of this many rows.
pub(super) fn forks(size: u64) -> u64 {
    size.div_ceil(ROWS as u64)
}

impl Program for Matmul {
    fn prepare(size: usize) -> io::Result<Self> {
        // Whole numbers below 7, whose products are exact.
        let matrix = |seed: usize| -> Vec<f64> {
            (0..size * size).map(|index| ((index * seed) % 7) as f64).collect()
        };
        // Written, so no run makes it resident.
        Ok(Matmul { size, a: matrix(3), b: matrix(5), product: vec![1.0; size * size] })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let (size, a, b, product) = (self.size, &self.a, &self.b, &mut self.product);
        each::<F, _>(outside, product, ROWS * size, |index, rows| {
            let first = index * ROWS * size;
            multiply(size, &a[first..first + rows.len()], b, rows);
        });
    }

    fn answer(&self) -> u64 {
        fingerprint(self.product.iter().map(|field| field.to_bits()))
    }
}

/// Computes some rows of the product: rows of `a`, times `b`. It has the same machine code for all pools.
#[inline(never)]
fn multiply(size: usize, a: &[f64], b: &[f64], rows: &mut [f64]) {
    rows.fill(0.0);
    for (block, b) in b.chunks(BLOCK * size).enumerate() {
        for (a, row) in a.chunks(size).zip(rows.chunks_mut(size)) {
            for (factor, b) in a[block * BLOCK..].iter().zip(b.chunks(size)) {
                row.iter_mut().zip(b).for_each(|(field, b)| *field += factor * b);
            }
        }
    }
}
