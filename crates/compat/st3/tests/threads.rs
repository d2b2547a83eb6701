//! Each item has one taker, whatever owner and thieves do at the same time.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use brigade_testkit::Watchdog;
use st3::StealError;

const ITEMS: usize = 20_000;
const THIEVES: usize = 3;

macro_rules! for_both {
    ($($order:ident)*) => {$(
        mod $order {
            use super::*;
            use st3::$order::{Stealer, Worker};

            /// Steals until the owner has ended and nothing is left; returns what it got.
            fn thief(stealer: &Stealer<usize>, number: usize, ended: &AtomicBool) -> Vec<usize> {
                let mine = Worker::new(64);
                let mut taken = Vec::new();
                loop {
                    // Read before the last look: what was pushed before is seen by it.
                    let last_look = ended.load(Ordering::Acquire);
                    let stolen = if number % 2 == 0 {
                        stealer.steal(&mine, |count| count - count / 2).map(drop)
                    } else {
                        stealer.steal_and_pop(&mine, |count| count / 2 + 1).map(|(item, _)| taken.push(item))
                    };
                    taken.extend(std::iter::from_fn(|| mine.pop()));
                    match stolen {
                        Ok(()) | Err(StealError::Busy) => thread::yield_now(),
                        Err(StealError::Empty) if last_look => return taken,
                        Err(StealError::Empty) => thread::yield_now(),
                    }
                }
            }

            #[test]
            fn each_pushed_item_comes_out_once() {
                let _dog = Watchdog::start(60);
                let worker = Worker::new(32);
                let ended = AtomicBool::new(false);
                let mut all = thread::scope(|scope| {
                    let thieves: Vec<_> = (0..THIEVES)
                        .map(|number| {
                            let (stealer, ended) = (worker.stealer(), &ended);
                            scope.spawn(move || thief(&stealer, number, ended))
                        })
                        .collect();
                    let mut kept = Vec::new();
                    let mut next = 0;
                    while next < ITEMS {
                        for item in next..(next + 7).min(ITEMS) {
                            match worker.push(item) {
                                Ok(()) => next = item + 1,
                                Err(_) => break,
                            }
                        }
                        kept.extend(worker.pop());
                        if next % 5 == 0 {
                            kept.extend(worker.drain(|_| 2).into_iter().flatten());
                        }
                    }
                    ended.store(true, Ordering::Release);
                    kept.extend(thieves.into_iter().flat_map(|thief| thief.join().unwrap()));
                    kept.extend(std::iter::from_fn(|| worker.pop()));
                    kept
                });
                all.sort_unstable();
                assert!(all.into_iter().eq(0..ITEMS));
            }
        }
    )*};
}

for_both!(lifo fifo);
