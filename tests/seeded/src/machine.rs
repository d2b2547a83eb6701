//! The machine of a program: threads, a clock and a kernel that obey a seed, or the system's.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(brigade_seeded)]
mod form {
    pub(crate) use brigade_io::{Faults, begin, changed};
    pub(crate) use brigade_sync::seeded::{clock, number};

    /// A program has made a pool.
    pub(crate) fn made(_pool: brigade::Handle) {}
}

#[cfg(not(brigade_seeded))]
mod form {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    pub(crate) use crate::soak::made;

    pub(crate) mod clock {
        use std::sync::LazyLock;
        use std::time::{Duration, Instant};

        /// A part of the real time: a machine may run a thread late.
        pub(crate) fn idle() -> Duration {
            static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
            BEGUN.elapsed() / 4
        }

        /// Time passes by itself.
        pub(crate) fn pass(_time: Duration) {}
    }

    /// A kernel has none that a program could plan.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Faults {
        None,
        Some,
        Fatal,
    }

    pub(crate) fn begin(_faults: Faults) {}

    pub(crate) fn changed() {}

    /// The number of the calling thread.
    pub(crate) fn number() -> usize {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = THREADS.fetch_add(1, Relaxed);
        }
        NUMBER.with(|number| *number)
    }
}

pub(crate) use form::{Faults, begin, changed, clock, made, number};

/// Whether the threads obey a seed.
pub(crate) const IS_SEEDED: bool = cfg!(brigade_seeded);

/// State of the run; a process has a single run at a time. Its lock is no step.
pub(crate) struct PerRun<T>(Mutex<T>);

impl<T> PerRun<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, value: T) {
        *self.lock() = value;
    }

    pub(crate) fn get(&self) -> T
    where
        T: Clone,
    {
        self.lock().clone()
    }

    pub(crate) fn with_borrow<R>(&self, call: impl FnOnce(&T) -> R) -> R {
        call(&self.lock())
    }

    pub(crate) fn with_borrow_mut<R>(&self, call: impl FnOnce(&mut T) -> R) -> R {
        call(&mut self.lock())
    }
}
