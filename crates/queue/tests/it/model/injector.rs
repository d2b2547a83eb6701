//! The operations of any thread on the injector.

use super::{Machine, Model, Operation};

/// Slots of an injector's block: a batch is taken from one block only.
const BLOCK: usize = 511;

impl<O: Model> Machine<O> {
    /// Applies an operation on the injector.
    pub(super) fn share(&mut self, operation: Operation) {
        match operation {
            Operation::Inject => {
                let item = self.item();
                let number = *item.number;
                match self.injector.push(item) {
                    Ok(()) => self.inject([number]),
                    Err(item) => assert_eq!((*item.number, self.closed), (number, true)),
                }
            }
            Operation::InjectAccepted => {
                let item = self.item();
                self.inject([*item.number]);
                self.injector.push_accepted(item);
            }
            Operation::InjectBatch { count } => {
                let items = self.items(count.into());
                let numbers: Vec<_> = items.iter().map(|item| *item.number).collect();
                match self.injector.push_batch(items) {
                    Ok(()) => self.inject(numbers),
                    Err(items) => {
                        assert!(self.closed);
                        assert!(items.iter().map(|item| *item.number).eq(numbers));
                    }
                }
            }
            Operation::InjectBatchAccepted { count } => {
                let items = self.items(count.into());
                let numbers: Vec<_> = items.iter().map(|item| *item.number).collect();
                self.inject(numbers);
                self.injector.push_batch_accepted(items);
            }
            Operation::Take => {
                let taken = self.injector.pop().map(|item| *item.number);
                assert_eq!(taken, self.injected.pop_front());
            }
            Operation::TakeBatch { ring, most } => self.take_batch(self.index(ring), most.into()),
            _ => {
                self.injector.close();
                self.closed = true;
            }
        }
    }

    fn take_batch(&mut self, at: usize, most: usize) {
        let ring = &mut self.rings[at];
        let (there, room) = (self.injected.len(), ring.room());
        let of_block = BLOCK - (self.pushed - there) % BLOCK;
        let count = most.min(there).min(room + 1).min(of_block);
        let taken = self.injector.pop_batch_into(&ring.worker, most).map(|item| *item.number);
        let mut moved = self.injected.drain(..count);
        assert_eq!(taken, moved.next());
        ring.model.extend(moved);
    }
}
