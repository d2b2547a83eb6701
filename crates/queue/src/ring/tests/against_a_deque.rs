//! Operations of one thread on two rings have the same effect as on two deques.

use super::*;

/// The number of kinds of operations.
const KINDS: u32 = 7;

/// A ring, another one to steal into, and the deques with the expected content.
struct Twins<O: Modelled> {
    worker: Worker<u32, O>,
    stealer: Stealer<u32, O>,
    other: Worker<u32, O>,
    model: VecDeque<u32>,
    stolen: VecDeque<u32>,
    /// The last item.
    next: u32,
    /// The number of accepted items.
    accepted: usize,
}

impl<O: Modelled> Twins<O> {
    /// Two rings of this capacity, each in its order.
    fn new(capacity: usize, [own, others]: [O; 2]) -> Self {
        let worker = ring_in(own, capacity);
        Self {
            stealer: worker.stealer(),
            worker,
            other: ring_in(others, capacity),
            model: VecDeque::new(),
            stolen: VecDeque::new(),
            next: 0,
            accepted: 0,
        }
    }

    fn next(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn room(&self) -> usize {
        self.worker.capacity() - self.model.len()
    }

    /// Applies an operation to both; `amount` is its size where it has one.
    fn step(&mut self, kind: u32, amount: usize) {
        match kind {
            0 => self.push(),
            1 => assert_eq!(self.worker.pop(), self.worker.order().pop_model(&mut self.model)),
            2 => self.steal_one(),
            3 => self.steal_half(),
            4 => self.steal_and_pop(amount),
            5 => self.drain(amount),
            _ => self.extend(amount),
        }
    }

    fn push(&mut self) {
        let item = self.next();
        if self.room() == 0 {
            assert_eq!(self.worker.push(item), Err(item));
        } else {
            self.model.push_back(item);
            self.accepted += 1;
            assert_eq!(self.worker.push(item), Ok(()));
        }
    }

    fn steal_one(&mut self) {
        assert_eq!(self.stealer.steal_one(), self.model.pop_front().ok_or(StealError::Empty));
    }

    fn steal_half(&mut self) {
        let room = self.other.capacity() - self.stolen.len();
        let count = self.model.len().div_ceil(2).min(room);
        let expected = if count == 0 { Err(StealError::Empty) } else { Ok(count) };
        assert_eq!(self.stealer.steal(&self.other, |there| there.div_ceil(2)), expected);
        self.stolen.extend(self.model.drain(..count));
    }

    fn steal_and_pop(&mut self, amount: usize) {
        let room = self.other.capacity() - self.stolen.len();
        let count = self.model.len().min(amount).min(room + 1);
        let mut taken: VecDeque<_> = self.model.drain(..count).collect();
        let newest = taken.pop_back().ok_or(StealError::Empty);
        let expected = newest.map(|item| (item, taken.len()));
        assert_eq!(self.stealer.steal_and_pop(&self.other, |_| amount), expected);
        self.stolen.append(&mut taken);
    }

    /// Reads half of a drain and drops it.
    fn drain(&mut self, amount: usize) {
        let count = self.model.len().min(amount);
        let mut taken: VecDeque<_> = self.model.drain(..count).collect();
        match self.worker.drain(|_| amount) {
            Err(error) => assert_eq!((count, error), (0, StealError::Empty)),
            Ok(mut drain) => {
                assert_eq!(drain.len(), count);
                for _ in 0..count / 2 {
                    assert_eq!(drain.next(), taken.pop_front());
                }
            }
        }
    }

    /// Offers `amount` items, which may be more than fit.
    fn extend(&mut self, amount: usize) {
        let first = self.next + 1;
        self.next += amount as u32;
        let mut offered = first..self.next + 1;
        self.worker.extend(offered.by_ref());
        let fitting = amount.min(self.room());
        assert_eq!(offered.len(), amount - fitting, "no more are taken than fit");
        self.model.extend((first..).take(fitting));
        self.accepted += fitting;
    }

    fn check(&self) {
        assert_eq!((self.worker.len(), self.other.len()), (self.model.len(), self.stolen.len()));
        assert_eq!(self.stealer.len(), self.model.len());
        assert_eq!(self.worker.spare_capacity(), self.room());
        assert_eq!(self.worker.is_empty(), self.model.is_empty());
        assert_eq!(self.stealer.is_empty(), self.model.is_empty());
    }

    /// Checks that the remaining items come out in order.
    fn finish(mut self) {
        while let Some(item) = self.worker.order().pop_model(&mut self.model) {
            assert_eq!(self.worker.pop(), Some(item));
        }
        assert_eq!(self.worker.pop(), None);
        let stolen = core::iter::from_fn(|| self.other.stealer_ref().steal_one().ok());
        assert!(stolen.eq(self.stolen));
    }
}

/// Runs every sequence of `length` operations.
fn every_sequence<O: Modelled>(length: u32, orders: [O; 2]) {
    let length = if cfg!(miri) { 2 } else { length };
    for capacity in [1, 2, 4] {
        for sequence in 0..KINDS.pow(length) {
            let mut twins = Twins::new(capacity, orders);
            let mut left = sequence;
            for _ in 0..length {
                twins.step(left % KINDS, 3);
                twins.check();
                left /= KINDS;
            }
            twins.finish();
        }
    }
}

#[test]
fn a_wrapping_lifo_ring_is_a_deque() {
    every_sequence(6, <[Lifo<8>; 2]>::default());
    every_sequence(4, <[Lifo<16>; 2]>::default());
    every_sequence(4, <[Lifo; 2]>::default());
}

#[test]
fn a_wrapping_fifo_ring_is_a_deque() {
    every_sequence(6, <[Fifo<8>; 2]>::default());
    every_sequence(4, <[Fifo<16>; 2]>::default());
    every_sequence(4, <[Fifo; 2]>::default());
}

#[test]
fn a_ring_of_either_order_is_a_deque() {
    for own in [Either::Lifo, Either::Fifo] {
        every_sequence(4, [own, Either::Lifo]);
        every_sequence(4, [own, Either::Fifo]);
    }
}

/// Runs random operations while the positions wrap thousands of times; returns the number of accepted items.
fn long_walk<O: Modelled>(seed: u64, steps: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut accepted = 0;
    for asked in 1..=9 {
        let mut twins = Twins::new(asked, <[O; 2]>::default());
        for _ in 0..steps / 9 {
            // Stolen items are popped, so that the other ring has free slots now and then.
            if random.u32(..8) == 0 {
                assert_eq!(twins.other.pop(), twins.other.order().pop_model(&mut twins.stolen));
            } else {
                // Pushes and extensions as often as all operations that take.
                let kind = [0, 0, 0, 1, 2, 3, 4, 5, 6][random.usize(..9)];
                let amount = random.usize(..=twins.worker.capacity() + 1);
                twins.step(kind, amount);
            }
            // Rarely: a check refreshes the owner's view of the positions.
            if random.u32(..64) == 0 {
                twins.check();
            }
        }
        accepted += twins.accepted;
        twins.finish();
    }
    accepted
}

fn walks<O: Modelled>() {
    let steps = if cfg!(miri) { 900 } else { 700_000 };
    let seed = 7;
    std::println!("seed {seed}");
    let laps = long_walk::<O>(seed, steps) >> O::BITS;
    assert!(cfg!(miri) || laps > 1_000, "the positions wrapped {laps} times only");
}

#[test]
fn a_lifo_ring_is_a_deque_over_many_laps() {
    walks::<Lifo<8>>();
}

#[test]
fn a_fifo_ring_is_a_deque_over_many_laps() {
    walks::<Fifo<8>>();
}
