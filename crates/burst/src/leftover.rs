//! What could not be handed over.

use core::fmt;
use core::iter::FusedIterator;

/// Yields what [`dispatch_all`](crate::Sender::dispatch_all) and [`burst`](crate::Sender::burst) could not hand over:
/// the value that was refused, then the rest of the iterator.
///
/// The rest has not been looked at: it is computed, if it is, by whoever asks for it here.
///
/// ```
/// let (sender, mut receiver) = brigade_burst::channel();
/// assert!(receiver.try_recv().is_err());
/// let mut leftover = sender.burst(1..);
/// assert!(!leftover.is_empty());
/// assert_eq!(leftover.next(), Some(2));
/// assert_eq!(leftover.next(), Some(3), "from an iterator without an end");
/// ```
#[must_use = "these values were handed to nobody"]
pub struct Leftover<I: Iterator> {
    /// The value that found nobody.
    refused: Option<I::Item>,
    /// What comes behind it; `None` once it has come to its end.
    rest: Option<I>,
}

impl<I: Iterator> Leftover<I> {
    /// A value that was refused and what the iterator has behind it, where there is any of these.
    pub(crate) fn new(refused: Option<I::Item>, rest: Option<I>) -> Self {
        Self { refused, rest }
    }

    /// Whether all was handed over, or has been taken from here.
    ///
    /// The rest of an iterator is taken for something until it has said that it is nothing.
    pub fn is_empty(&self) -> bool {
        self.refused.is_none() && self.rest.is_none()
    }
}

impl<I: Iterator> Iterator for Leftover<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if let Some(refused) = self.refused.take() {
            return Some(refused);
        }
        let next = self.rest.as_mut()?.next();
        if next.is_none() {
            self.rest = None;
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let refused = usize::from(self.refused.is_some());
        let (low, high) = self.rest.as_ref().map_or((0, Some(0)), Iterator::size_hint);
        (low.saturating_add(refused), high.and_then(|high| high.checked_add(refused)))
    }
}

impl<I: Iterator> FusedIterator for Leftover<I> {}

impl<I: Iterator> fmt::Debug for Leftover<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leftover").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}
