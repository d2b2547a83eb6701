//! Many loops of some microseconds, one after the other, from a thread outside of the pool: what a program pays to have a short loop run in parallel.

use super::{Program, fingerprint};
use crate::workloads::prelude::*;

/// Loops of a run.
pub(super) const LOOPS: usize = 2_000;
/// Steps of an item, about 3 ns.
const STEPS: u32 = 20;

/// A loop.
pub(super) struct Short {
    items: Vec<AtomicU64>,
}

impl Program for Short {
    fn prepare(size: usize) -> io::Result<Self> {
        Ok(Short { items: (0..size).map(|_| AtomicU64::new(0)).collect() })
    }

    fn reset(&mut self) {
        self.items.iter_mut().for_each(|item| *item.get_mut() = 0);
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let (items, grain) = (&self.items, (self.items.len() / 16).max(1));
        for _ in 0..LOOPS {
            F::for_each_below(outside, items.len(), grain, |index| {
                items[index].store(item(index), Ordering::Relaxed);
            });
        }
    }

    fn answer(&self) -> u64 {
        fingerprint(self.items.iter().map(|item| item.load(Ordering::Relaxed)))
    }
}

/// An item, by a generator of random numbers (Knuth's MMIX). It has the same machine code for all pools.
#[inline(never)]
fn item(index: usize) -> u64 {
    let step = |number: u64, _| {
        number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
    };
    (0..STEPS).fold(index as u64 | 1, step)
}
