//! The Mandelbrot set: a chunk is a row, and the rows in the middle take far longer than those at the edges.

use super::{Program, each, fingerprint};
use crate::workloads::prelude::*;

/// Steps after which a point counts as a member of the set.
const STEPS: u16 = 500;

/// A picture.
pub(super) struct Mandelbrot {
    /// Rows, and columns.
    size: usize,
    /// Steps of each point, row by row.
    picture: Vec<u16>,
}

impl Program for Mandelbrot {
    fn prepare(size: usize) -> io::Result<Self> {
        // Written, so no run makes it resident.
        Ok(Mandelbrot { size, picture: vec![1; size * size] })
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let (size, picture) = (self.size, &mut self.picture);
        each::<F, _>(outside, picture, size, |index, row| draw(size, index, row));
    }

    fn answer(&self) -> u64 {
        fingerprint(self.picture.iter().map(|&steps| steps.into()))
    }
}

/// Draws the row with this index. It has the same machine code for all pools.
#[inline(never)]
fn draw(size: usize, index: usize, row: &mut [u16]) {
    let part = |index: usize| index as f64 / size as f64;
    let y = 2.4 * part(index) - 1.2;
    for (column, field) in row.iter_mut().enumerate() {
        *field = steps(3.0 * part(column) - 2.2, y);
    }
}

/// Steps until this point is far away.
fn steps(x: f64, y: f64) -> u16 {
    let (mut a, mut b) = (0.0, 0.0);
    for step in 0..STEPS {
        if a * a + b * b > 4.0 {
            return step;
        }
        (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
    }
    STEPS
}
