//! The parked workers of a pool, and which of them holds the driver.

/// The parked workers.
#[derive(Default)]
pub(in crate::engine::idle) struct Sleepers {
    /// Their indices, the last parked at the end.
    parked: Vec<usize>,
    /// The sleeper that sleeps until the next timer is due or an I/O event comes.
    driver_holder: Option<usize>,
}

impl Sleepers {
    pub(in crate::engine::idle) fn with_capacity(workers: usize) -> Self {
        Self { parked: Vec::with_capacity(workers), ..Self::default() }
    }

    pub(in crate::engine::idle) fn len(&self) -> usize {
        self.parked.len()
    }

    /// Their indices.
    #[cfg(feature = "trace")]
    pub(in crate::engine::idle) fn indices(&self) -> &[usize] {
        &self.parked
    }

    /// Adds a worker.
    pub(in crate::engine::idle) fn add(&mut self, index: usize) {
        self.parked.push(index);
    }

    /// Removes this worker, which holds the driver no more; `false` if it is not parked.
    #[must_use]
    pub(in crate::engine::idle) fn remove(&mut self, index: usize) -> bool {
        // From the end: most workers that withdraw have just parked.
        let Some(place) = self.parked.iter().rposition(|&parked| parked == index) else {
            return false;
        };
        self.parked.remove(place);
        self.release_driver(index);
        true
    }

    /// Removes the worker that parked last. The driver holder is removed only if it is alone: the others have nothing to do.
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

    /// The worker that holds the driver.
    pub(in crate::engine::idle) fn driver_holder(&self) -> Option<usize> {
        self.driver_holder
    }

    /// Has a parked worker hold the driver; `false` if another does or the worker is not parked.
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
