//! The price of a steal per item, from queues that no other thread touches at the time.
//!
//! It uses one thread: a second one would add the traffic between two CPUs, which is the same for
//! all targets and larger than all else.

use super::{METRICS, drain, fill, items, repeat, total};

use crate::target::queue::{CAPACITY, Deque, Make, Stealer};
use crate::targets::queues::{Deques, steals_any_number};
use crate::workloads::prelude::*;

/// The pattern `steal`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "pattern", rename = "steal")]
pub(crate) struct Steal {
    /// Items stolen at a time.
    pub(crate) batch: u64,
    /// Times taken in a run.
    pub(crate) repetitions: u64,
}

/// Queues stolen from per time that is taken: two thousand items, so that even at a nanosecond each
/// the reading of the clock, about 25, does not show. Nothing is subtracted for it.
const VICTIMS: usize = 16;

impl Steal {
    /// Steals from a full queue. One takes at most half of the items, since crossbeam does.
    fn thefts(&self) -> usize {
        let batch = self.batch as usize;
        (CAPACITY - batch) / batch
    }

    /// Items stolen per time that is taken.
    fn stolen(&self) -> u64 {
        (VICTIMS * self.thefts()) as u64 * self.batch
    }
}

impl Workload for Steal {
    const NAME: &'static str = "queue";
    const MEANING: Meaning = Meaning::new(
        "steal from a full deque",
        "It stands for an idle thread of a scheduler that takes work from a busy one.",
    );
    type Family = Deques;
    const METRICS: &'static [Metric] = METRICS;

    fn check(&self) -> Result<(), Stop> {
        let items = [(VICTIMS * CAPACITY) as u64, total(self.repetitions)];
        limits::product("items", &items, limits::MAX_TASKS).map(drop)
    }

    fn is_for(&self, target: &Entry) -> bool {
        steals_any_number(target)
    }

    fn expected(&self) -> Sum {
        let all = items(VICTIMS * CAPACITY).into_iter().collect::<Sum>();
        all.times(total(self.repetitions))
    }
}

impl DequeWorkload for Steal {
    fn run<D: Deque>(&self, make: Make<D>, bench: &Bench) -> Outcome {
        let (items, batch, thefts) =
            (items(VICTIMS * CAPACITY), self.batch as usize, self.thefts());
        let pairs: Vec<(D, D)> = (0..VICTIMS).map(|_| (make(), make())).collect();
        let stealers: Vec<_> = pairs.iter().map(|(victim, _)| victim.stealer()).collect();
        repeat(self.repetitions, bench, |fault| {
            for (index, (victim, _)) in pairs.iter().enumerate() {
                let fault = if index == 0 { fault } else { Fault::None };
                fill(victim, &items[index * CAPACITY..][..CAPACITY], fault);
            }
            let begun = Instant::now();
            for (stealer, (_, thief)) in stealers.iter().zip(&pairs) {
                for _ in 0..thefts {
                    // The items that a failed steal leaves are found below.
                    let _ = stealer.steal(thief, batch);
                }
            }
            let time = begun.elapsed();
            let stolen =
                pairs.iter().map(|(_, thief)| drain(thief)).fold(Sum::default(), Sum::plus);
            let left = pairs.iter().map(|(victim, _)| drain(victim)).fold(stolen, Sum::plus);
            bench.tally.add(left);
            // A price per item needs as many items for all targets.
            if stolen.tasks < self.stolen() {
                return Err(Failure::Miscounted { ran: stolen.tasks, expected: self.stolen() });
            }
            Ok(time.as_secs_f64() / self.stolen() as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, Steal};

    #[test]
    fn every_theft_finds_twice_what_it_takes() {
        for batch in 1..=128 {
            let steal = Steal { batch, repetitions: 1 };
            let before_last = CAPACITY as u64 - (steal.thefts() as u64 - 1) * batch;
            assert!(steal.thefts() > 0 && before_last >= 2 * batch, "{batch}");
            assert!(before_last - batch < 2 * batch, "{batch}: one more would do");
        }
    }
}
