//! The values that could not be handed over.

use core::fmt;
use core::iter::FusedIterator;

/// Yields the values that [`dispatch_all`](crate::Sender::dispatch_all) and [`burst`](crate::Sender::burst) could not hand
/// over: the rejected value, then the rest of the iterator.
///
/// The rest is lazy: the iterator is advanced only by this one.
///
/// ```
/// let (sender, mut receiver) = brigade_burst::channel();
/// assert!(receiver.try_recv().is_err());
/// let mut leftover = sender.burst(1..);
/// assert!(!leftover.is_empty());
/// assert_eq!(leftover.next(), Some(2));
/// assert_eq!(leftover.next(), Some(3), "from an iterator without an end");
/// ```
#[must_use = "these values have no receiver"]
pub struct Leftover<I: Iterator> {
    /// The value that found no receiver.
    rejected: Option<I::Item>,
    /// The iterator behind it; `None` once it has ended.
    rest: Option<I>,
}

impl<I: Iterator> Leftover<I> {
    /// Creates a leftover of a rejected value and the rest of an iterator, if there are any.
    pub(crate) fn new(rejected: Option<I::Item>, rest: Option<I>) -> Self {
        Self { rejected, rest }
    }

    /// Returns whether there is no value left.
    ///
    /// The rest of an iterator counts as not empty until it has returned `None`.
    pub fn is_empty(&self) -> bool {
        self.rejected.is_none() && self.rest.is_none()
    }
}

impl<I: Iterator> Iterator for Leftover<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if let Some(rejected) = self.rejected.take() {
            return Some(rejected);
        }
        let next = self.rest.as_mut()?.next();
        if next.is_none() {
            self.rest = None;
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rejected = usize::from(self.rejected.is_some());
        let (low, high) = self.rest.as_ref().map_or((0, Some(0)), Iterator::size_hint);
        (low.saturating_add(rejected), high.and_then(|high| high.checked_add(rejected)))
    }
}

impl<I: Iterator> FusedIterator for Leftover<I> {}

impl<I: Iterator> fmt::Debug for Leftover<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leftover").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
