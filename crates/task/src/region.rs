//! What a borrowing job is a part of.

/// Identifies a fork or a scope among all that have not ended.
///
/// It is the address of something that lives as long as the fork or the scope.
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

/// The type that the job of a fork names instead of its closure's.
pub(crate) struct OfFork;

/// The same for a job of a scope.
pub(crate) struct OfScope;
