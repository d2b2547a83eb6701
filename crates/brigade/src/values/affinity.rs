//! The CPUs of the workers and the distances of their peers; without the feature `affinity` all are alike.

#[cfg(not(feature = "affinity"))]
pub(super) use alike::{Neighbours, Pins};
#[cfg(feature = "affinity")]
pub(super) use brigade_machine::{Neighbours, Pins};

#[cfg(not(feature = "affinity"))]
mod alike {
    use core::iter;

    /// No thread is pinned.
    #[derive(Clone, Default)]
    pub(crate) struct Pins;

    impl Pins {
        pub(crate) fn apply(&self, _index: usize) {}
    }

    /// No peer is nearer than another.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct Neighbours;

    impl Neighbours {
        pub(crate) fn of_worker(&self, _index: usize) -> Self {
            *self
        }

        pub(crate) fn iter(self) -> iter::Empty<&'static [usize]> {
            iter::empty()
        }

        pub(crate) fn have(self, _index: usize) -> bool {
            false
        }
    }
}
