//! st3's first benchmark: one thread pushes a batch and pops it again.

use std::hint::black_box;

use super::{METRICS, drain, fill, items, repeat, total};

use crate::target::queue::{CAPACITY, Deque, Item, Make};
use crate::targets::queues::Deques;
use crate::workloads::prelude::*;

/// The pattern `push-pop-small` or `push-pop-large`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PushPop {
    /// Its name.
    #[serde(rename = "pattern")]
    name: &'static str,
    /// Items of a batch.
    #[serde(skip)]
    size: usize,
    /// Times taken in a run.
    repetitions: u64,
}

/// Batches per time that is taken, so that reading the clock doesn't show.
const BATCHES: u32 = 200;

impl PushPop {
    /// A quarter of a queue at a time.
    pub(crate) fn small(repetitions: u64) -> Self {
        PushPop { name: "push-pop-small", size: CAPACITY / 4, repetitions }
    }

    /// A whole queue at a time.
    pub(crate) fn large(repetitions: u64) -> Self {
        PushPop { name: "push-pop-large", size: CAPACITY, repetitions }
    }

    /// Batches of a run: one that isn't timed comes before those that are.
    fn batches(&self) -> u64 {
        u64::from(1 + BATCHES) * total(self.repetitions)
    }
}

impl Workload for PushPop {
    const NAME: &'static str = "queue";
    const MEANING: Meaning = Meaning::new(
        "push to a deque and pop from it",
        "It stands for the inner loop of a scheduler, on one thread: every spawn and every next job.",
    );
    type Family = Deques;
    const METRICS: &'static [Metric] = METRICS;

    fn check(&self) -> Result<(), Stop> {
        let items = [self.size as u64, self.batches()];
        limits::product("items", &items, limits::MAX_TASKS).map(drop)
    }

    fn expected(&self) -> Sum {
        items(self.size).into_iter().collect::<Sum>().times(self.batches())
    }
}

impl DequeWorkload for PushPop {
    fn run<D: Deque>(&self, make: Make<D>, bench: &Bench) -> Outcome {
        let (deque, items) = (make(), items(self.size));
        // Without a stealer no thread could steal, and a queue might be faster because of that.
        let stealer = deque.stealer();
        let values = repeat(self.repetitions, bench, |fault| {
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

/// Pushes all items and pops as many. The sum of what came out is all that is done with them: two
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
