//! Eight threads, each with a ring that the others steal from, and an injector for the overflow.
//!
//! `ci/soak.sh` runs it with more items, and pinned to one processor.
// Tests run on std's own threads and atomics.
#![allow(clippy::disallowed_types)]
#![cfg(not(brigade_loom))]

use std::array;
use std::iter;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use brigade_queue::{Injector, Order, StealError, Stealer, Worker, fifo, lifo};
use brigade_testkit::{Seed, Watchdog};
use fastrand::Rng;

const THREADS: usize = 8;
/// The items that each thread reserves until every thread has stolen one: one for each of the others.
const RESERVE: usize = THREADS - 1;
const CAPACITIES: [usize; 6] = [1, 2, 4, 16, 64, 256];

/// Counts the outcomes of the items.
struct Fates {
    dropped: Vec<AtomicU8>,
    left: AtomicUsize,
    torn: AtomicUsize,
    /// The number of threads that have not stolen an item yet.
    without_loot: AtomicUsize,
}

impl Fates {
    fn new(items: usize) -> Self {
        Self {
            dropped: (0..items).map(|_| AtomicU8::new(0)).collect(),
            left: AtomicUsize::new(items),
            torn: AtomicUsize::new(0),
            without_loot: AtomicUsize::new(THREADS),
        }
    }

    fn assert_each_dropped_once(&self) {
        for (number, count) in self.dropped.iter().enumerate() {
            assert_eq!(count.load(Ordering::Relaxed), 1, "item {number}");
        }
        assert_eq!(self.torn.load(Ordering::Relaxed), 0, "torn items");
    }
}

/// An item of `WORDS` words that counts its drop; some have a part on the heap, for the sanitizers.
struct Item<'a, const WORDS: usize> {
    words: [usize; WORDS],
    heap: Option<Box<usize>>,
    fates: &'a Fates,
}

impl<'a, const WORDS: usize> Item<'a, WORDS> {
    fn new(number: usize, fates: &'a Fates) -> Self {
        let heap = (number % 8 == 0).then(|| Box::new(number));
        Self { words: array::from_fn(|word| number ^ word), heap, fates }
    }
}

impl<const WORDS: usize> Drop for Item<'_, WORDS> {
    fn drop(&mut self) {
        let number = self.words[0];
        let whole = self.words.iter().enumerate().all(|(word, &there)| there == number ^ word)
            && self.heap.as_deref().is_none_or(|&heap| heap == number);
        self.fates.torn.fetch_add((!whole).into(), Ordering::Relaxed);
        if let Some(count) = self.fates.dropped.get(number) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.fates.left.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One of the threads.
struct Thief<'a, 'i, O: Order, const WORDS: usize> {
    own: Worker<Item<'a, WORDS>, O>,
    others: Vec<Stealer<Item<'a, WORDS>, O>>,
    injector: &'i Injector<Item<'a, WORDS>>,
    fates: &'a Fates,
    rng: Rng,
    stolen: usize,
}

impl<O: Order, const WORDS: usize> Thief<'_, '_, O, WORDS> {
    /// Pushes its items and takes items, at random; keeps a reserve for the other threads until all have stolen.
    fn work(&mut self, mut numbers: impl ExactSizeIterator<Item = usize>) {
        while numbers.len() > RESERVE {
            if self.rng.u8(..) == 0 {
                // Without this, threads that share a processor mostly process their own items.
                thread::yield_now();
            }
            match self.rng.u8(..8) {
                // Limited, as items that are not taken in time would fill the memory.
                0..=3 if self.injector.len() < 2_000 => self.produce(&mut numbers),
                0..=4 => self.consume(),
                _ => {
                    if self.rng.bool() {
                        iter::from_fn(|| self.own.pop()).for_each(drop);
                    }
                    self.steal();
                }
            }
        }
        while self.fates.without_loot.load(Ordering::Relaxed) > 0 {
            if self.stolen == 0 {
                // Frees a slot, without which some ways of stealing find the destination full.
                drop(self.own.pop());
                self.steal();
            } else if self.own.is_empty() {
                numbers.by_ref().take(1).for_each(|number| self.push(number));
            }
            thread::yield_now();
        }
        numbers.for_each(|number| self.push(number));
        while self.fates.left.load(Ordering::Relaxed) > 0 {
            self.consume();
            if !self.steal() {
                thread::yield_now();
            }
        }
    }

    fn push(&self, number: usize) {
        if let Err(item) = self.own.push(Item::new(number, self.fates)) {
            self.injector.take_overflow(&self.own);
            self.own.push(item).unwrap_or_else(|item| self.injector.push_accepted(item));
        }
    }

    fn produce(&mut self, numbers: &mut impl ExactSizeIterator<Item = usize>) {
        let count = self.rng.usize(1..=12).min(numbers.len() - RESERVE);
        let fates = self.fates;
        let mut numbers = numbers.take(count);
        let mut items = numbers.by_ref().map(|number| Item::new(number, fates));
        match self.rng.u8(..4) {
            0 => {
                self.own.extend(items.by_ref());
                self.injector.push_batch(items.collect()).ok().expect("it is never closed");
            }
            1 => {
                // A claim that is open while the owner continues, as if a thief had been preempted.
                let claim = self.own.drain(|_| count).map(|mut drain| {
                    drop(drain.next());
                    drain
                });
                drop(self.own.pop());
                items.for_each(|item| {
                    if let Err(item) = self.own.push(item) {
                        self.injector.push(item).ok().expect("it is never closed");
                    }
                });
                drop(claim);
            }
            _ => numbers.for_each(|number| self.push(number)),
        }
    }

    fn consume(&mut self) {
        let count = self.rng.usize(..8);
        match self.rng.u8(..8) {
            // Not all claimed items are read.
            0 => {
                self.own.drain(|there| there).into_iter().for_each(|drain| drop(drain.take(count)))
            }
            1 => self.own.drain(|_| count).into_iter().flatten().for_each(drop),
            2 => _ = self.injector.take_overflow(&self.own),
            3 => drop(self.injector.pop()),
            4 | 5 => {
                let most = if self.rng.bool() { count } else { usize::MAX };
                drop(self.injector.pop_batch_into(&self.own, most));
            }
            _ => iter::from_fn(|| self.own.pop()).take(count).for_each(drop),
        }
    }

    /// Steals from one of the others; returns whether it had an item or was busy.
    fn steal(&mut self) -> bool {
        let (victim, way) = (self.rng.usize(..self.others.len()), self.rng.u8(..4));
        let (victim, own, rng) = (&self.others[victim], &self.own, &mut self.rng);
        let any = |there| rng.usize(..=there + 1);
        let result = match way {
            0 => victim.steal(own, any),
            1 => victim.steal_and_pop(own, any).map(|(_, moved)| moved + 1),
            2 => victim.steal_half_and_pop(own).map(|(_, moved)| moved + 1),
            _ => victim.steal_one().map(|_| 1),
        };
        match result {
            Ok(count) => {
                assert!(count > 0, "way {way} reports success without an item");
                if self.stolen == 0 {
                    self.fates.without_loot.fetch_sub(1, Ordering::Relaxed);
                }
                self.stolen += count;
                true
            }
            Err(StealError::Busy) => true,
            Err(StealError::Empty) => false,
        }
    }
}

fn eight_threads<O: Order, const WORDS: usize>(items: usize) {
    let _dog = Watchdog::start(10 + items as u64 / 100_000);
    let seed = Seed::printed().below(u64::MAX);
    let fates = Fates::new(items);
    let injector = Injector::new();
    let mut rng = Rng::with_seed(seed);
    let workers: Vec<_> =
        (0..THREADS).map(|_| Worker::<_, O>::new(CAPACITIES[rng.usize(..6)])).collect();
    let stealers: Vec<_> = workers.iter().map(Worker::stealer).collect();
    let stolen: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = iter::zip(workers, 0..)
            .map(|(own, index)| {
                let others = stealers.iter().filter(|other| *other != own.stealer_ref());
                let others = others.cloned().collect();
                let (injector, fates, rng) = (&injector, &fates, rng.fork());
                let mut thief = Thief::<O, WORDS> { own, others, injector, fates, rng, stolen: 0 };
                let share = index * items / THREADS..(index + 1) * items / THREADS;
                scope.spawn(move || {
                    thief.work(share);
                    thief.stolen
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("stolen: {stolen:?}");
    fates.assert_each_dropped_once();
    assert!(injector.is_empty());
    assert!(stolen.iter().all(|&count| count > 0), "a thread stole nothing: {stolen:?}");
}

/// Returns the number of items: `BRIGADE_STRESS_ITEMS`, or few enough for every test run.
fn items() -> usize {
    match std::env::var("BRIGADE_STRESS_ITEMS") {
        Ok(items) => items.parse().expect("BRIGADE_STRESS_ITEMS is a number"),
        Err(_) => 300_000,
    }
}

#[test]
fn lifo_rings_pass_items_once_among_eight_threads() {
    eight_threads::<lifo::Lifo, 1>(items());
}

#[test]
fn fifo_rings_pass_items_once_among_eight_threads() {
    eight_threads::<fifo::Fifo, 1>(items());
}

// A wide item takes long to move, so it is seen half moved if at all.

#[test]
fn lifo_rings_pass_wide_items_on_whole() {
    eight_threads::<lifo::Lifo, 64>(items() / 8);
}

#[test]
fn fifo_rings_pass_wide_items_on_whole() {
    eight_threads::<fifo::Fifo, 64>(items() / 8);
}

#[cfg(feature = "std")]
mod deques {
    use super::*;
    use brigade_queue::deque;
    use std::hint;
    use std::time::{Duration, Instant};

    /// The owner pops the only item beside a thief that claims it, in rounds that begin together. A thief whose fence orders nothing for the
    /// owner does not see the announcement in the owner's store buffer, and both take the item.
    #[test]
    fn the_only_item_of_a_deque_is_taken_once() {
        /// A busy machine has fewer rounds in this time, each of which hands over twice.
        const TIME: Duration = Duration::from_secs(2);
        let start = Instant::now();
        let goes_on = |&round: &usize| match cfg!(miri) {
            true => round <= 50,
            false => start.elapsed() < TIME,
        };
        let owner = deque::Worker::new();
        let stealer = owner.stealer();
        let (begun, over) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let both = thread::scope(|scope| {
            let steals = scope.spawn(|| {
                let rest = deque::Worker::new();
                let steal = |round| {
                    if wait_for(&begun, round) == LAST {
                        return None;
                    }
                    let stolen = stealer.steal(&rest, |_, _| 1) == Ok(round);
                    over.store(round, Ordering::Release);
                    Some(stolen)
                };
                (1..).map_while(steal).collect::<Vec<_>>()
            });
            let pop = |round| {
                owner.push(round);
                begun.store(round, Ordering::Release);
                (0..round % 60).for_each(|_| hint::spin_loop());
                let popped = owner.pop().is_some();
                wait_for(&over, round);
                // A thief may have claimed it when it was popped, and have left it.
                while owner.pop().is_some() {}
                popped
            };
            let popped: Vec<_> = (1..).take_while(goes_on).map(pop).collect();
            begun.store(LAST, Ordering::Release);
            let stolen = steals.join().unwrap();
            assert!(stolen.len() == popped.len() && !popped.is_empty());
            popped.into_iter().zip(stolen).filter(|&(popped, stolen)| popped && stolen).count()
        });
        assert_eq!(both, 0);
    }

    /// The round that does not begin.
    const LAST: usize = usize::MAX;

    /// Waits until a round has begun, or is over, and returns the last such round; the other thread may need this processor.
    fn wait_for(counter: &AtomicUsize, round: usize) -> usize {
        let mut looks = 0;
        loop {
            let reached = counter.load(Ordering::Acquire);
            if reached >= round {
                return reached;
            }
            looks += 1;
            if looks < 200 { hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// Store buffering: the owner pushes and reads a flag, the other thread sets it, passes the heavy fence, and looks. One of the two sees
    /// the other. It needs a release build, where the owner reads before its store has left the store buffer.
    #[test]
    fn a_push_is_seen_after_a_fence_or_its_owner_sees_the_rest() {
        const ROUNDS: usize = if cfg!(miri) { 50 } else { 40_000 };
        let owner = deque::Worker::new();
        owner.push(0);
        let stealer = owner.stealer();
        let (begun, over, flag) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let missed = thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let look = |round| {
                    wait_for(&begun, round);
                    flag.store(round, Ordering::Relaxed);
                    stealer.fence();
                    let sees = stealer.len() > 1;
                    over.store(round, Ordering::Release);
                    sees
                };
                (1..=ROUNDS).map(look).collect::<Vec<_>>()
            });
            let push = |round| {
                flag.store(0, Ordering::Relaxed);
                begun.store(round, Ordering::Release);
                (0..round % 40).for_each(|_| hint::spin_loop());
                owner.push(round);
                let sees = flag.load(Ordering::Relaxed) == round;
                wait_for(&over, round);
                assert_eq!(owner.pop(), Some(round));
                sees
            };
            let saw_flag: Vec<_> = (1..=ROUNDS).map(push).collect();
            let saw_push = looks.join().unwrap();
            saw_flag.into_iter().zip(saw_push).filter(|&(flag, push)| !flag && !push).count()
        });
        assert_eq!(missed, 0, "of {ROUNDS} pushes");
    }
}
