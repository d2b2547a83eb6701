//! The number of a phase, and what it says of the two inlets.

/// How often phases have begun and ended: odd while one is on.
///
/// What a running worker that is not late reads may be old, but never so old that `home` is another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Era(pub(super) u64);

impl Era {
    /// Whether somebody waits for what was accepted before.
    pub(crate) fn is_on(self) -> bool {
        self.0 % 2 == 1
    }

    /// The inlet of what is waited for; without a phase that of everything.
    #[inline(always)]
    pub(crate) fn home(self) -> usize {
        (self.0 / 2 % 2) as usize
    }

    /// The inlet that takes work from outside.
    #[inline(always)]
    pub(crate) fn outside(self) -> usize {
        self.next().home()
    }

    /// The one after it.
    #[inline(always)]
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
