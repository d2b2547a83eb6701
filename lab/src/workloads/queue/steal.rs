//! The price of a steal per item, from queues untouched by other threads at the time.
//!
//! It uses a single thread: a second thread would add the traffic between two CPUs, which is the
//! same for all targets and larger than all else.

use super::{Queue, drain, fill, items};

use crate::target::queue::{CAPACITY, Deque, Make};
use crate::workloads::prelude::*;

/// Queues stolen from per measured time: two thousand items, so even at a nanosecond each
/// the reading of the clock, about 25, does not show. Nothing is subtracted for it.
pub(super) const VICTIMS: usize = 16;

/// Steals from a full queue. A steal takes at most half of the items, as in crossbeam.
fn thefts(batch: usize) -> usize {
    (CAPACITY - batch) / batch
}

impl Queue {
    /// Steals a batch after the other.
    pub(super) fn steal<D: Deque>(&self, make: Make<D>, bench: &Bench) -> Outcome {
        let (items, batch) = (items(VICTIMS * CAPACITY), self.batch.unwrap_or_default() as usize);
        let thefts = thefts(batch);
        // Items stolen per measured time.
        let expected = (VICTIMS * thefts * batch) as u64;
        let pairs: Vec<(D, D)> = (0..VICTIMS).map(|_| (make(), make())).collect();
        let stealers: Vec<_> = pairs.iter().map(|(victim, _)| victim.stealer()).collect();
        self.repeat(bench, |fault| {
            for (index, (victim, _)) in pairs.iter().enumerate() {
                let fault = if index == 0 { fault } else { Fault::None };
                fill(victim, &items[index * CAPACITY..][..CAPACITY], fault);
            }
            let begun = Instant::now();
            for (stealer, (_, thief)) in stealers.iter().zip(&pairs) {
                for _ in 0..thefts {
                    // The items left by a failed steal are found below.
                    let _ = thief.steal(stealer, batch);
                }
            }
            let time = begun.elapsed();
            let stolen =
                pairs.iter().map(|(_, thief)| drain(thief)).fold(Sum::default(), Sum::plus);
            let left = pairs.iter().map(|(victim, _)| drain(victim)).fold(stolen, Sum::plus);
            bench.tally.add(left);
            // A price per item needs as many items for all targets.
            if stolen.tasks < expected {
                return Err(Failure::Miscounted { ran: stolen.tasks, expected });
            }
            Ok(time.as_secs_f64() / expected as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CAPACITY, thefts};

    #[test]
    fn every_theft_finds_two_batches() {
        for batch in 1..=128 {
            let thefts = thefts(batch as usize);
            let before_last = CAPACITY as u64 - (thefts as u64 - 1) * batch;
            assert!(thefts > 0 && before_last >= 2 * batch, "{batch}");
            assert!(before_last - batch < 2 * batch, "{batch}: one more would do");
        }
    }
}
