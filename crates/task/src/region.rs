//! The fork or scope of a borrowing job.

/// Identifies an unfinished fork or scope.
///
/// It is an address inside the fork or the scope, unique for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region(pub(crate) usize);

impl Region {
    /// The region at an address.
    pub fn at(address: usize) -> Self {
        Self(address)
    }

    /// The address.
    pub fn address(self) -> usize {
        self.0
    }
}

/// The type named by the job of a fork instead of the closure's.
pub(crate) struct OfFork;

/// The same for a job of a scope.
pub(crate) struct OfScope;
