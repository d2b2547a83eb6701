//! Moves items from a full ring to an injector.

use crate::injector::Injector;
use crate::ring::{Order, Worker};

impl<T> Injector<T> {
    /// Moves the older half of a worker here, closed or not; returns how many items.
    ///
    /// Returns 0 if a thief holds a claim: then push to the injector instead, by [`push_accepted`](Self::push_accepted).
    ///
    /// ```
    /// use brigade_queue::{Injector, fifo};
    /// let (worker, injector) = (fifo::Worker::new(4), Injector::new());
    /// worker.extend(0..4);
    /// assert_eq!((worker.push(4), injector.take_overflow(&worker)), (Err(4), 2));
    /// assert_eq!((worker.push(4), injector.pop(), worker.pop()), (Ok(()), Some(0), Some(2)));
    /// ```
    pub fn take_overflow<O: Order>(&self, worker: &Worker<T, O>) -> usize {
        let Some(mut items) = worker.drain_half() else {
            return 0;
        };
        let count = items.len();
        self.push_drained(&mut items);
        count
    }
}
