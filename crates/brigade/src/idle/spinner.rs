//! Which worker spins before it sleeps.

use brigade_sync::atomic::{AtomicBool, Ordering};

use super::Idle;

/// Whether a worker spins; at most one worker of a pool does so at a time.
pub(super) struct Spinner {
    spins: AtomicBool,
    /// How many threads the process may run at once.
    cpus: usize,
}

/// The right to spin, until it is dropped.
pub(crate) struct Spinning<'a>(&'a Spinner);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.spins.store(false, Ordering::Relaxed);
    }
}

impl Spinner {
    pub(super) fn new(cpus: usize) -> Self {
        Self { spins: AtomicBool::new(false), cpus }
    }
}

impl Idle {
    /// Whether the running workers leave so many CPUs free.
    pub(crate) fn has_free_cpus(&self, cpus: usize) -> bool {
        self.snapshot().running() + cpus <= self.spinner.cpus
    }

    /// Takes the right to spin; `None` if another worker has it, or the running workers leave no CPU free for it.
    pub(crate) fn try_spin(&self) -> Option<Spinning<'_>> {
        let may = self.has_free_cpus(1) && !self.spinner.spins.swap(true, Ordering::Relaxed);
        may.then(|| Spinning(&self.spinner))
    }
}
