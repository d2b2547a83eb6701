//! A map in a sorted vector.
//!
//! For maps with few entries most of the time. These are searched as fast as in a `BTreeMap`, and with several thousand
//! an insertion in the middle still costs less than the accompanying system call. A `BTreeMap` adds 10 kB of machine
//! code to a program for each pair of types.

/// A map in a vector sorted by key.
pub(crate) struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<K: Copy + Ord, V> SortedMap<K, V> {
    /// The position of a key, or the position at which to insert it.
    fn position(&self, key: K) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&key, |&(key, _)| key)
    }

    /// All entries, in the order of the keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.entries.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        let position = self.position(key).ok()?;
        Some(&self.entries[position].1)
    }

    /// Returns the value of a key; adds the default if there is none.
    pub(crate) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let position = self.position(key).unwrap_or_else(|position| {
            self.entries.insert(position, (key, V::default()));
            position
        });
        &mut self.entries[position].1
    }

    /// Removes a key if `over` returns `true` for its value; `over` may change the value.
    pub(crate) fn remove_if(&mut self, key: K, over: impl FnOnce(&mut V) -> bool) -> Option<V> {
        let position = self.position(key).ok()?;
        over(&mut self.entries[position].1).then(|| self.entries.remove(position).1)
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_value_that_was_inserted_last_until_it_is_removed() {
        let mut map = SortedMap::default();
        for key in [5, 1, 9, 3, 7] {
            *map.get_or_default(key) += key * 10;
        }
        *map.get_or_default(3) += 1;
        assert_eq!(
            [1, 2, 3, 9].map(|key| map.get(key).copied()),
            [Some(10), None, Some(31), Some(90)]
        );
        assert_eq!(map.remove_if(3, |value| std::mem::replace(value, 4) != 31), None);
        assert_eq!(map.remove_if(3, |&mut value| value == 4), Some(4));
        assert_eq!(map.remove_if(3, |_| true), None);
        assert_eq!(
            [1, 3, 5, 7, 9].map(|key| map.get(key).is_some()),
            [true, false, true, true, true]
        );
    }
}
