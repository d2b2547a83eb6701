//! st3's first benchmark: a single thread pushes a batch and pops it again.

use std::hint::black_box;

use super::{Queue, drain, fill};

use crate::target::queue::{Deque, Item, Make};
use crate::workloads::prelude::*;

/// Batches per measured time, so the reading of the clock doesn't show.
const BATCHES: u32 = 200;

/// Items of a repetition: an untimed batch comes before the timed batches.
pub(super) fn expected(size: usize) -> Sum {
    super::items(size).into_iter().collect::<Sum>().times(u64::from(1 + BATCHES))
}

impl Queue {
    /// Pushes batches and pops them.
    pub(super) fn push_pop<D: Deque>(&self, make: Make<D>, bench: &Bench) -> Outcome {
        let (deque, items) = (make(), super::items(self.size()));
        // Without a stealer no thread could steal, and a queue might be faster for it.
        let stealer = deque.stealer();
        let values = self.repeat(bench, |fault| {
            fill(&deque, &items, fault);
            let mut sum = drain(&deque);
            let begun = Instant::now();
            for _ in 0..BATCHES {
                batch(&deque, &items, &mut sum);
            }
            let time = begun.elapsed() / BATCHES;
            bench.tally.add(sum.plus(drain(&deque)));
            Ok(time.as_secs_f64())
        });
        drop(stealer);
        values
    }
}

/// Pushes all items and pops as many. The popped items are only summed up: two
/// additions an item, the same for every target.
#[inline]
fn batch<D: Deque>(deque: &D, items: &[Item], sum: &mut Sum) {
    for &item in black_box(items) {
        // A bounded queue may be full, but no target is here; a lost item would be missing in the
        // sum.
        let _ = deque.push(item);
    }
    for _ in 0..items.len() {
        if let Some(item) = deque.pop() {
            sum.note(item);
        }
    }
}
