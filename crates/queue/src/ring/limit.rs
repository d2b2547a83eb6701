//! How many items a steal takes.

/// How many items of a queue to take.
///
/// ```
/// use brigade_queue::Limit;
/// assert_eq!(Limit::Half.of(5), 3);
/// assert_eq!(Limit::HalfAtMost(2).of(5), 2);
/// assert_eq!(Limit::AtMost(4).of(5), 4);
/// assert_eq!(Limit::All.of(5), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Half of the items, rounded up.
    Half,
    /// Half of the items, rounded up, but no more than this.
    HalfAtMost(usize),
    /// This many items, or all if there are fewer; none if it is 0.
    AtMost(usize),
    /// All items.
    All,
}

impl Limit {
    /// Returns how many of `count` items the limit allows.
    #[inline]
    pub fn of(self, count: usize) -> usize {
        match self {
            Self::Half => count.div_ceil(2),
            Self::HalfAtMost(most) => count.div_ceil(2).min(most),
            Self::AtMost(most) => count.min(most),
            Self::All => count,
        }
    }

    /// Returns whether to halve a count, and the most that is then left of it.
    #[inline(always)]
    pub(super) fn parts(self) -> (bool, u32) {
        let cut = |most| u32::try_from(most).unwrap_or(u32::MAX);
        match self {
            Self::Half => (true, u32::MAX),
            Self::HalfAtMost(most) => (true, cut(most)),
            Self::AtMost(most) => (false, cut(most)),
            Self::All => (false, u32::MAX),
        }
    }
}

/// Applies [`Limit::parts`] to a count.
#[inline(always)]
pub(super) fn part_of(count: u32, halves: bool, most: u32) -> u32 {
    let share = if halves { count - count / 2 } else { count };
    share.min(most)
}
