//! The price of a push to a shared queue, by one thread or by several.
//!
//! The time runs until all have pushed, over the pushes of all: if two threads need as long as a
//! single thread for the same number, the result is the same.

use std::ops::Range;

use super::Queue;
use super::race::Race;

use crate::target::queue::{Injector, Job, Make};
use crate::workloads::prelude::*;

/// The items of a repetition, shared out among the producers.
pub(super) fn expected(items: u64) -> Sum {
    (0..items).map(job).map(print).collect()
}

impl Queue {
    /// The items pushed by this producer, by number.
    fn share(&self, producer: u64) -> Range<u64> {
        let until = |producers| self.items() * producers / self.producers();
        until(producer)..until(producer + 1)
    }

    /// Pushes all items, and pops them untimed.
    pub(super) fn inject<I: Injector>(&self, make: Make<I>, bench: &Bench) -> Outcome {
        let (tally, total) = (bench.tally, self.total());
        let race = Arc::new((Race::new(self.producers() as usize), make()));
        let others = (1..self.producers()).map(|producer| {
            let (race, share) = (Arc::clone(&race), self.share(producer));
            on_thread(move || {
                let (race, injector) = &*race;
                (0..total).try_for_each(|_| {
                    let push = || push(injector, producer as usize, share.clone(), Fault::None);
                    race.run(tally, push).map(drop)
                })
            })
        });
        let others: Vec<_> = others.collect();
        let (race, injector) = &*race;
        let values = self.repeat(bench, |fault| {
            let (time, ()) = race.run(tally, || push(injector, 0, self.share(0), fault))?;
            // The others wait for this thread at the start.
            tally.add(iter::from_fn(|| injector.pop()).map(print).collect());
            Ok(time / self.items() as f64)
        })?;
        others.into_iter().try_for_each(joined)?;
        Ok(values)
    }
}

/// Pushes the items with these numbers, of which the fault befalls the first.
#[inline]
fn push<I: Injector>(injector: &I, producer: usize, mut numbers: Range<u64>, fault: Fault) {
    let first = numbers.next().map(job);
    for _ in 0..fault.copies(0) {
        let _ = first.map(|job| injector.push(producer, job));
    }
    for number in numbers {
        // If the queue takes no more, the item is lost, which the tally reports.
        let _ = injector.push(producer, job(number));
    }
}

/// The item with this number: four words, so a torn item shows.
#[inline]
fn job(number: u64) -> Job {
    [number, !number, number << 1, number << 2]
}

/// The fingerprint of an item.
fn print(job: Job) -> u64 {
    job.into_iter().fold(0, |print, word| scramble(print ^ word))
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, Queue};
    use super::{job, print};
    use std::collections::HashSet;

    #[test]
    fn the_producers_share_all_items_evenly() {
        for (producers, items) in [(1, 1), (2, 1_500), (7, 1_500), (8, 8)] {
            let queue = Queue {
                pattern: Pattern::Injector,
                producers: Some(producers),
                items: Some(items),
                workers: None,
                batch: None,
                repetitions: None,
            };
            let shares: Vec<_> = (0..producers).map(|producer| queue.share(producer)).collect();
            assert!(shares.iter().cloned().flatten().eq(0..items), "{shares:?}");
            let sizes = shares.iter().map(|share| share.end - share.start);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{shares:?}");
        }
    }

    #[test]
    fn a_half_repeated_item_has_its_own_fingerprint() {
        let mut prints: HashSet<_> = (0..1_000).map(job).map(print).collect();
        for number in 0..999 {
            let (mut one, other) = (job(number), job(number + 1));
            one[2..].copy_from_slice(&other[2..]);
            prints.insert(print(one));
        }
        assert_eq!(prints.len(), 1_999);
    }
}
