//! The parked workers of a pool, and the duties that some of them have.

/// What a parked worker does besides sleeping. At most one worker has each duty, and none has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Looks at the queues periodically, for jobs that were queued without a wake-up.
    Monitor,
    /// Sleeps until the next timer is due or an I/O event comes.
    Driver,
    /// Looks from time to time whether the workers that handle events are in long jobs.
    Standby,
}

/// The parked workers.
#[derive(Default)]
pub(super) struct Sleepers {
    /// Their indices, the last one parked at the end.
    parked: Vec<usize>,
    /// The holder of each duty.
    on_duty: [Option<usize>; 3],
}

impl Sleepers {
    pub(super) fn with_capacity(workers: usize) -> Self {
        Self { parked: Vec::with_capacity(workers), ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.parked.len()
    }

    /// Their indices.
    #[cfg(feature = "trace")]
    pub(super) fn indices(&self) -> &[usize] {
        &self.parked
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    /// Adds a worker without a duty.
    pub(super) fn add(&mut self, index: usize) {
        self.parked.push(index);
    }

    /// Removes this worker with its duty; `false` if it is not parked.
    #[must_use]
    pub(super) fn remove(&mut self, index: usize) -> bool {
        // From the end: most workers that withdraw have just parked.
        let Some(place) = self.parked.iter().rposition(|&parked| parked == index) else {
            return false;
        };
        self.parked.remove(place);
        self.relieve(index);
        true
    }

    /// Removes the worker that parked last, with its duty. The driver holder is removed only if it is alone: the others have
    /// nothing to do.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let last = *self.parked.last()?;
        let count = self.parked.len();
        if self.holder(Duty::Driver) == Some(last) && count > 1 {
            self.parked.swap(count - 2, count - 1);
        }
        let index = self.parked.pop()?;
        self.relieve(index);
        Some(index)
    }

    /// The worker with this duty.
    pub(super) fn holder(&self, duty: Duty) -> Option<usize> {
        self.on_duty[duty as usize]
    }

    /// Gives a parked worker a duty, in place of any that it has; `false` if another has it or the worker is not parked.
    #[must_use]
    pub(super) fn take_up(&mut self, index: usize, duty: Duty) -> bool {
        let takes = self.holder(duty).is_none() && self.parked.contains(&index);
        if takes {
            self.relieve(index);
            self.on_duty[duty as usize] = Some(index);
        }
        takes
    }

    /// Takes the duty from a worker, if it has one.
    pub(super) fn relieve(&mut self, index: usize) {
        self.on_duty.iter_mut().for_each(|holder| _ = holder.take_if(|holder| *holder == index));
    }
}
