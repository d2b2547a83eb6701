//! A sorted map with less than a quarter of the machine code of std's.
//!
//! The entries lie in blocks, in the order of their keys. A search takes logarithmic time: in the list of blocks, then in a block. A new or
//! removed entry moves the later entries of the block. A new or removed block, for some 32 entries, moves 24 bytes for each later block:
//! with 100,000 entries less than the search takes, with a million keys in random order as much.
//!
//! *Rejected:* a binary heap: it can't find the last entry up to a key. *Rejected:* a treap: more code, and a cache miss for each of its
//! 2 log n levels. *Rejected:* a linked list of waiters: a waiter woken in vain would search for its former place.

use core::mem;

/// The entries of a full block. With 16 the list of blocks is long, with 128 an entry moves many others.
const MOST: usize = 64;

/// Entries in the order of their keys.
pub struct SortedMap<K, V> {
    /// None is empty, except a single one. Two neighbours have more than half of [`MOST`] entries together.
    blocks: Vec<Vec<(K, V)>>,
}

impl<K, V> Default for SortedMap<K, V> {
    /// Makes an empty map. Allocates nothing.
    fn default() -> Self {
        Self { blocks: Vec::new() }
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// The block of a key, and where the key is in it, or belongs.
    fn find(&self, key: &K) -> (usize, Result<usize, usize>) {
        let begins = |block: &Vec<(K, V)>| block.first().is_some_and(|first| first.0 <= *key);
        let block = self.blocks.partition_point(begins).saturating_sub(1);
        let Some(entries) = self.blocks.get(block) else { return (0, Err(0)) };
        (block, entries.binary_search_by(|entry| entry.0.cmp(key)))
    }

    /// Adds an entry, and returns the former value of the key.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (mut block, place) = self.find(&key);
        let mut index = match place {
            Ok(index) => return Some(mem::replace(&mut self.blocks[block][index].1, value)),
            Err(index) => index,
        };
        match self.blocks.get_mut(block) {
            None => self.blocks.push(Vec::new()),
            Some(entries) if entries.len() == MOST => {
                // Behind a full block, as when keys only rise, all entries stay together.
                let half = if index == MOST { MOST } else { MOST / 2 };
                let upper = entries.split_off(half);
                self.blocks.insert(block + 1, upper);
                if index >= half {
                    (block, index) = (block + 1, index - half);
                }
            }
            Some(_) => {}
        }
        self.blocks[block].insert(index, (key, value));
        None
    }

    /// Removes the entry of a key, and returns the value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (block, place) = self.find(key);
        if let Ok(index) = place { Some(self.take(block, index)) } else { None }
    }

    /// Removes the first entry, and returns the value.
    pub fn pop_first(&mut self) -> Option<V> {
        if self.is_empty() { None } else { Some(self.take(0, 0)) }
    }

    fn take(&mut self, block: usize, index: usize) -> V {
        let (_, value) = self.blocks[block].remove(index);
        for lower in [block, block.wrapping_sub(1)] {
            let Some([entries, upper, ..]) = self.blocks.get_mut(lower..) else { continue };
            let [count, more] = [entries.len(), upper.len()];
            if count == 0 || more == 0 || count + more <= MOST / 2 {
                entries.append(upper);
                self.blocks.remove(lower + 1);
            }
        }
        if self.blocks.capacity() > 4 * self.blocks.len() {
            self.blocks.shrink_to(2 * self.blocks.len());
        }
        value
    }

    /// Returns whether the map has no entry.
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Returns the first entry.
    pub fn first(&self) -> Option<&(K, V)> {
        self.blocks.first()?.first()
    }

    /// Returns how many entries there are up to a key, counted up to `most`.
    pub fn count_until(&self, key: &K, most: usize) -> usize {
        let mut count = 0;
        for entries in &self.blocks {
            for (own, _) in entries {
                if count == most || own > key {
                    return count;
                }
                count += 1;
            }
        }
        count
    }

    /// Returns the last entry up to a key.
    pub fn last_until(&self, key: &K) -> Option<&(K, V)> {
        let (block, place) = self.find(key);
        let count = place.map_or_else(|index| index, |index| index + 1);
        self.blocks.get(block)?.get(count.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    impl<K: Ord + Copy, V: Copy> SortedMap<K, V> {
        fn assert_sound(&self) {
            let lengths: Vec<_> = self.blocks.iter().map(Vec::len).collect();
            assert!(lengths.len() == 1 || lengths.iter().all(|&length| length > 0), "{lengths:?}");
            assert!(lengths.iter().all(|&length| length <= MOST), "{lengths:?}");
            assert!(lengths.windows(2).all(|pair| pair[0] + pair[1] > MOST / 2), "{lengths:?}");
            assert!(self.blocks.capacity() <= 4 * lengths.len());
        }
    }

    #[test]
    fn it_agrees_with_the_map_of_std() {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut map, mut other) = (SortedMap::default(), BTreeMap::new());
        assert!(map.first().is_none() && map.remove(&0).is_none());
        assert_eq!((map.count_until(&0, 1), map.last_until(&0)), (0, None));
        // It grows in order or not, and shrinks from the front or not, by turns.
        for round in 0..40_000_u64 {
            let phase = round / 2000;
            let key = if phase % 4 == 0 { round } else { rng.u64(..20_000) };
            match rng.u32(..4) {
                0 if phase % 3 == 0 => {
                    assert_eq!(map.pop_first(), other.pop_first().map(|(_, value)| value));
                }
                0 | 1 if phase % 5 == 4 => {
                    let nearest = other.range(key..).next().map_or(key, |(&key, _)| key);
                    assert_eq!(map.remove(&nearest), other.remove(&nearest));
                }
                _ if phase % 5 == 4 => assert_eq!(map.remove(&key), other.remove(&key)),
                _ => assert_eq!(map.insert(key, round), other.insert(key, round)),
            }
            map.assert_sound();
            let last = map.last_until(&key).map(|(key, value)| (key, value));
            assert_eq!(last, other.range(..=key).next_back());
            assert_eq!(map.count_until(&key, 70), other.range(..=key).take(70).count());
            assert_eq!(map.is_empty(), other.is_empty());
        }
        let all = map.blocks.iter().flatten().copied();
        assert!(all.eq(other.iter().map(|(&key, &value)| (key, value))));
        while let Some(value) = map.pop_first() {
            map.assert_sound();
            assert_eq!(Some(value), other.pop_first().map(|(_, value)| value));
        }
        assert!(other.is_empty() && map.blocks.len() == 1);
    }

    #[test]
    fn rising_keys_fill_their_blocks() {
        let mut map = SortedMap::default();
        (0..10 * MOST).for_each(|key| assert!(map.insert(key, ()).is_none()));
        assert!(map.blocks.iter().all(|block| (block.len(), block.capacity()) == (MOST, MOST)));
    }
}
