//! An entry for each pending job, such as its handle, by number.

use std::collections::VecDeque;

/// The first allocation: enough for the ten children of a usual tree.
const FIRST: usize = 12;

/// This many gaps are always left open.
const FEW: usize = 64;

/// The handles of jobs, in the order of their numbers. No call takes longer on average than a binary search.
pub(super) struct Pending<H> {
    /// A removed handle leaves a gap.
    entries: VecDeque<(usize, Option<H>)>,
    /// The number of handles.
    pub(super) len: usize,
}

impl<H> Pending<H> {
    pub(super) fn new() -> Self {
        Self { entries: VecDeque::with_capacity(FIRST), len: 0 }
    }

    /// Adds a handle with a higher number than any earlier handle.
    pub(super) fn push(&mut self, number: usize, handle: H) {
        debug_assert!(self.entries.back().is_none_or(|last| last.0 < number), "in order");
        self.entries.push_back((number, Some(handle)));
        self.len += 1;
    }

    /// The index of the first entry from this number on.
    fn find(&self, number: usize) -> usize {
        // The index if no gap has been closed.
        let index = self.entries.front().map_or(0, |first| number.saturating_sub(first.0));
        match self.entries.get(index) {
            Some(entry) if entry.0 == number => index,
            _ => self.entries.partition_point(|entry| entry.0 < number),
        }
    }

    /// The handle with this number.
    pub(super) fn get(&self, number: usize) -> Option<&H> {
        let entry = self.entries.get(self.find(number))?;
        if entry.0 == number { entry.1.as_ref() } else { None }
    }

    /// Removes the handle with this number, and returns both.
    pub(super) fn remove(&mut self, number: usize) -> Option<(usize, H)> {
        let index = self.find(number);
        let entry = self.entries.get_mut(index).filter(|entry| entry.0 == number)?;
        let handle = entry.1.take()?;
        self.len -= 1;
        if self.entries.len() > 2 * self.len + FEW {
            self.entries.retain(|entry| entry.1.is_some());
            self.entries.shrink_to(2 * self.len);
        }
        Some((number, handle))
    }

    /// The handles from this number on.
    pub(super) fn from(&mut self, number: usize) -> impl Iterator<Item = (usize, &mut H)> {
        let index = self.find(number);
        self.entries.range_mut(index..).filter_map(|entry| Some((entry.0, entry.1.as_mut()?)))
    }

    /// Removes all handles.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (usize, H)> + use<H> {
        core::mem::replace(self, Self::new())
            .entries
            .into_iter()
            .filter_map(|(number, handle)| Some((number, handle?)))
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::collections::BTreeMap;

    use brigade_testkit::Seed;

    use super::*;

    #[test]
    fn it_agrees_with_a_map_in_little_memory() {
        let mut seed = Seed::printed();
        let (mut pending, mut map) = (Pending::new(), BTreeMap::new());
        for number in 0..20_000 {
            // It grows, and then has few left but the first.
            let keeps = number < 5000;
            pending.push(number, number);
            map.insert(number, number);
            for _ in 0..if keeps { 1 } else { 3 } {
                let wanted = seed.below(number as u64 + 2) as usize;
                let next = map.range(wanted..).next().map(|(&number, _)| number);
                assert_eq!(pending.from(wanted).next().map(|(number, _)| number), next);
                assert_eq!(pending.get(wanted), map.get(&wanted));
                let removed = next.filter(|&next| next > 0 && !(keeps && seed.below(2) == 0));
                for number in removed.into_iter().chain([number + 1]) {
                    assert_eq!(pending.remove(number), map.remove_entry(&number));
                    assert_eq!(pending.remove(number), None, "it is gone");
                }
            }
            assert_eq!(pending.len, map.len());
            assert!(pending.entries.len() <= 2 * pending.len + FEW + 1);
        }
        assert!(pending.len < 100 && pending.entries.capacity() < 1000, "{}", pending.len);
        assert!(pending.take().map(|(number, _)| number).eq(map.into_keys()));
        assert_eq!((pending.len, pending.from(0).count()), (0, 0));
    }
}
