//! Operations on a few rings and an injector, applied to the queues and to `VecDeque`s, and compared.
//!
//! On one thread; `stress.rs` has the races. `sequences.rs` and the fuzz target run it.

mod injector;
mod operation;
mod owner;
mod thief;

use std::collections::VecDeque;
use std::iter;
use std::rc::Rc;

use brigade_queue::{Injector, Order, Worker, fifo, lifo};

pub(crate) use operation::Operation;

/// An order of a ring, and the effect of its pop on a deque.
pub(crate) trait Model: Order {
    fn take_next(model: &mut VecDeque<u32>) -> Option<u32>;
}

impl Model for lifo::Lifo {
    fn take_next(model: &mut VecDeque<u32>) -> Option<u32> {
        model.pop_back()
    }
}

impl Model for fifo::Fifo {
    fn take_next(model: &mut VecDeque<u32>) -> Option<u32> {
        model.pop_front()
    }
}

/// An item whose double free a sanitizer detects, and whose loss is detected at the end.
#[derive(Debug)]
struct Item {
    number: Box<u32>,
    _alive: Rc<()>,
}

struct Ring<O: Order> {
    worker: Worker<Item, O>,
    model: VecDeque<u32>,
}

impl<O: Order> Ring<O> {
    fn room(&self) -> usize {
        self.worker.capacity() - self.model.len()
    }
}

/// The queues and their models.
pub(crate) struct Machine<O: Model> {
    rings: Vec<Ring<O>>,
    injector: Injector<Item>,
    injected: VecDeque<u32>,
    pushed: usize,
    closed: bool,
    next: u32,
    alive: Rc<()>,
}

/// Runs the operations, then pops the remaining items, or drops the queues with them if `dropped`.
///
/// # Panics
/// If the queues and their models differ.
pub(crate) fn run<O: Model>(
    capacities: &[usize],
    operations: impl IntoIterator<Item = Operation>,
    dropped: bool,
) {
    let mut machine = Machine::<O>::new(capacities);
    for (step, operation) in operations.into_iter().enumerate() {
        let before: Vec<_> = machine.rings.iter().map(|ring| ring.model.clone()).collect();
        let marks: Vec<_> =
            machine.rings.iter().map(|ring| ring.worker.stealer_ref().version()).collect();
        machine.step(operation);
        machine.assert_counts(step, operation);
        for ((ring, before), mark) in machine.rings.iter().zip(before).zip(marks) {
            let now = ring.worker.stealer_ref().version();
            assert!(
                ring.model == before || now != mark,
                "the version has not changed: {operation:?}"
            );
        }
    }
    let alive = machine.alive.clone();
    if dropped {
        drop(machine);
    } else {
        machine.take_out();
    }
    assert_eq!(Rc::strong_count(&alive), 1, "items that were never dropped");
}

impl<O: Model> Machine<O> {
    fn new(capacities: &[usize]) -> Self {
        let ring = |&capacity| Ring { worker: Worker::new(capacity), model: VecDeque::new() };
        Self {
            rings: capacities.iter().map(ring).collect(),
            injector: Injector::new(),
            injected: VecDeque::new(),
            pushed: 0,
            closed: false,
            next: 0,
            alive: Rc::new(()),
        }
    }

    fn index(&self, ring: u8) -> usize {
        usize::from(ring) % self.rings.len()
    }

    fn item(&mut self) -> Item {
        self.next += 1;
        Item { number: Box::new(self.next), _alive: self.alive.clone() }
    }

    fn items(&mut self, count: usize) -> Vec<Item> {
        (0..count).map(|_| self.item()).collect()
    }

    /// Applies a push to the model of the injector.
    fn inject(&mut self, numbers: impl IntoIterator<Item = u32>) {
        let before = self.injected.len();
        self.injected.extend(numbers);
        self.pushed += self.injected.len() - before;
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Push { ring }
            | Operation::PushCounted { ring }
            | Operation::Extend { ring, .. }
            | Operation::Pop { ring }
            | Operation::Drain { ring, .. }
            | Operation::TakeOverflow { ring } => self.own(self.index(ring), operation),
            Operation::StealOne { .. }
            | Operation::Steal { .. }
            | Operation::StealAndPop { .. }
            | Operation::StealHalfAndPop { .. } => self.steal(operation),
            _ => self.share(operation),
        }
    }

    fn assert_counts(&self, step: usize, operation: Operation) {
        for (index, ring) in self.rings.iter().enumerate() {
            let (worker, thief) = (&ring.worker, ring.worker.stealer_ref());
            let counts = (worker.len(), worker.is_empty(), thief.len(), thief.is_empty());
            let there = ring.model.len();
            let said = format!("ring {index} after step {step}, {operation:?}");
            assert_eq!(counts, (there, there == 0, there, there == 0), "{said}");
            assert_eq!(worker.spare_capacity(), ring.room(), "{said}");
        }
        let (injector, there) = (&self.injector, self.injected.len());
        assert_eq!((injector.len(), injector.is_empty()), (there, there == 0), "{operation:?}");
        assert_eq!((injector.pushed(), injector.is_closed()), (self.pushed as u64, self.closed));
    }

    fn take_out(self) {
        for Ring { worker, mut model } in self.rings {
            let popped = iter::from_fn(|| worker.pop()).map(|item| *item.number);
            assert!(popped.eq(iter::from_fn(|| O::take_next(&mut model))));
        }
        let popped = iter::from_fn(|| self.injector.pop()).map(|item| *item.number);
        assert!(popped.eq(self.injected));
    }
}
