//! That one thread drives at a time.

use brigade_sync::atomic::{AtomicBool, Ordering};

/// The place at the system's call, which one thread has at a time, and nobody waits for.
#[derive(Debug)]
pub(crate) struct Place(AtomicBool);

/// The place is the holder's until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Place);

impl Place {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Takes the place, if it is free.
    #[inline]
    pub(crate) fn take(&self) -> Option<Turn<'_>> {
        // Ordering: Acquire pairs with the Release of the turn before, whose listening at the bell has ended, then. Relaxed
        // on failure, which leads to nothing.
        let taken = self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Made only if it is ours: dropping it would end the turn of the other.
        taken.is_ok().then(|| Turn(self))
    }

    /// Whether somebody has it at this moment.
    #[inline]
    pub(crate) fn is_taken(&self) -> bool {
        // Ordering: Relaxed, as it may be over when the caller hears of it.
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `take`.
        self.0.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_taken_once_and_asking_for_it_does_not_free_it() {
        let place = Place::new();
        let turn = place.take();
        assert!(turn.is_some());
        assert!(place.take().is_none());
        assert!(place.take().is_none(), "still");
        assert!(place.is_taken());
        drop(turn);
        assert!(!place.is_taken() && place.take().is_some());
    }
}
