//! The handles of pending jobs, in the order of their numbers.

use std::collections::VecDeque;

/// Memory for this many is not given back.
const FEW: usize = 64;

/// The first allocation: enough for the ten children of a usual tree.
const FIRST: usize = 12;

/// The handles of jobs, in the order of their numbers. Each call costs the same on average, however many there are.
pub(super) struct Pending<H> {
    /// With the handle until that is removed; the first one has it.
    entries: VecDeque<(usize, Option<H>)>,
    len: usize,
}

impl<H> Default for Pending<H> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), len: 0 }
    }
}

impl<H> Pending<H> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds the handle of a job whose number is higher than all others.
    #[inline]
    pub(super) fn push(&mut self, number: usize, handle: H) {
        if self.entries.capacity() == 0 {
            self.entries.reserve_exact(FIRST);
        }
        self.entries.push_back((number, Some(handle)));
        self.len += 1;
    }

    /// Where the entry with this number is, or the next one.
    #[inline]
    fn find(&self, number: usize) -> usize {
        let first = self.entries.front().map_or(0, |entry| entry.0);
        let index = number.saturating_sub(first);
        match self.entries.get(index) {
            Some(entry) if entry.0 == number => index,
            _ => self.entries.partition_point(|entry| entry.0 < number),
        }
    }

    /// Removes the handle of the job with this number.
    #[inline]
    pub(super) fn remove(&mut self, number: usize) -> Option<H> {
        let index = self.find(number);
        let entry = self.entries.get_mut(index).filter(|entry| entry.0 == number)?;
        let handle = entry.1.take()?;
        self.len -= 1;
        while self.entries.front().is_some_and(|entry| entry.1.is_none()) {
            self.entries.pop_front();
        }
        while self.entries.back().is_some_and(|entry| entry.1.is_none()) {
            self.entries.pop_back();
        }
        if self.entries.capacity() > 4 * self.len + FEW {
            self.entries.retain(|entry| entry.1.is_some());
            self.entries.shrink_to(2 * self.len);
        }
        Some(handle)
    }

    /// Removes the first handle.
    pub(super) fn pop_first(&mut self) -> Option<(usize, H)> {
        let number = self.entries.front()?.0;
        Some((number, self.remove(number)?))
    }

    /// The first handle with this number or a higher one.
    #[inline]
    pub(super) fn from(&mut self, number: usize) -> Option<(usize, &mut H)> {
        let index = self.find(number);
        let mut from = self.entries.range_mut(index..);
        from.find_map(|entry| Some((entry.0, entry.1.as_mut()?)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &H)> {
        self.entries.iter().filter_map(|entry| Some((entry.0, entry.1.as_ref()?)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut H)> {
        self.entries.iter_mut().filter_map(|entry| Some((entry.0, entry.1.as_mut()?)))
    }
}
