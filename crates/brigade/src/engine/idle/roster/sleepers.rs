//! The parked workers of a pool, and which of them holds the driver.

/// The parked workers.
#[derive(Default)]
pub(in crate::engine::idle) struct Sleepers {
    /// The indices of the parked workers, the last parked at the end; those that have run nothing come first.
    pub(in crate::engine::idle) parked: Vec<usize>,
    /// The sleeper on the driver: it sleeps until the next timer is due or an I/O event comes.
    pub(in crate::engine::idle) driver_holder: Option<usize>,
}

impl Sleepers {
    pub(in crate::engine::idle) fn with_capacity(workers: usize) -> Self {
        Self { parked: Vec::with_capacity(workers), ..Self::default() }
    }

    /// Adds a worker, which is picked first, or last if it `is_cold`.
    pub(in crate::engine::idle) fn add(&mut self, index: usize, is_cold: bool) {
        self.parked.insert(if is_cold { 0 } else { self.parked.len() }, index);
    }

    /// Removes this worker, which no longer holds the driver; `false` if it is not parked.
    #[must_use]
    pub(in crate::engine::idle) fn remove(&mut self, index: usize) -> bool {
        // From the end: a withdrawing worker has usually just parked.
        let Some(place) = self.parked.iter().rposition(|&parked| parked == index) else {
            return false;
        };
        self.parked.remove(place);
        self.release_driver(index);
        true
    }

    /// Removes the most recently parked worker. The driver holder is removed only if it is alone: the other workers
    /// have nothing to do.
    pub(in crate::engine::idle) fn pop(&mut self) -> Option<usize> {
        let last = *self.parked.last()?;
        let count = self.parked.len();
        if self.driver_holder == Some(last) && count > 1 {
            self.parked.swap(count - 2, count - 1);
        }
        let index = self.parked.pop()?;
        self.release_driver(index);
        Some(index)
    }

    /// Makes a parked worker the driver holder; `false` if there is a holder, or if the worker is not parked.
    #[must_use]
    pub(in crate::engine::idle) fn hold_driver(&mut self, index: usize) -> bool {
        let holds = self.driver_holder.is_none() && self.parked.contains(&index);
        if holds {
            self.driver_holder = Some(index);
        }
        holds
    }

    fn release_driver(&mut self, index: usize) {
        self.driver_holder.take_if(|holder| *holder == index);
    }
}
