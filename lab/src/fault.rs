//! Faults the laboratory can make itself, so that its tests can see that it detects them.

/// What happens to one task of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: every task is submitted once.
    None,
    /// The first task is never submitted.
    Lost,
    /// The first task is submitted twice.
    Repeated,
    /// The task in the middle of a line panics when half of all bytes have come by. It is for lines only.
    Died,
}

impl Fault {
    /// How often the task with this index is to be submitted.
    #[inline]
    pub(crate) fn copies(self, index: u32) -> usize {
        match (self, index) {
            (Fault::Lost, 0) => 0,
            (Fault::Repeated, 0) => 2,
            _ => 1,
        }
    }
}
