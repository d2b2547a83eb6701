//! Moves items from a full ring to an injector.

use crate::injector::Injector;
use crate::ring::{Order, Worker};

impl<T, O: Order> Worker<T, O> {
    /// Queues an item; a full ring first moves its older half to `injector`. Returns how many items went there.
    ///
    /// The injector takes them even if it is closed, since a ring holds only items that were accepted before. If a thief
    /// holds a claim on the ring, the item itself goes to the injector too.
    ///
    /// ```
    /// use brigade_queue::{Injector, fifo};
    /// let (worker, injector) = (fifo::Worker::new(4), Injector::new());
    /// let moved: usize = (0..6).map(|item| worker.push_overflowing(item, &injector)).sum();
    /// assert_eq!((moved, worker.len(), injector.len()), (2, 4, 2));
    /// assert_eq!((injector.pop(), worker.pop()), (Some(0), Some(2)));
    /// ```
    #[inline]
    pub fn push_overflowing(&self, item: T, injector: &Injector<T>) -> usize {
        let Err(item) = self.push(item) else {
            return 0;
        };
        let moved = injector.take_overflow(self);
        match self.push(item) {
            Ok(()) => moved,
            Err(item) => {
                injector.push_accepted(item);
                moved + 1
            }
        }
    }
}

impl<T> Injector<T> {
    /// Moves the older half of a worker here, closed or not; returns how many items.
    ///
    /// Returns 0 if a thief holds a claim: then push to the injector instead.
    pub fn take_overflow<O: Order>(&self, worker: &Worker<T, O>) -> usize {
        let Some(mut items) = worker.drain_half() else {
            return 0;
        };
        let count = items.len();
        self.push_drained(&mut items);
        count
    }
}
