//! The sources of a driver, by key; the key of a removed source finds nothing.

use std::io;
use std::sync::Arc;

use crate::error::driver_closed;
use crate::sys::Source;

/// How many bits of a key are the index: half of it, or on 32 bits a million sources with 4096 generations.
const INDEX_BITS: u32 = if usize::BITS >= 64 { 32 } else { 20 };
/// The largest index is of no source: keys with it are those of notifiers.
const MAX_INDEX: usize = (1 << INDEX_BITS) - 1;

/// The table. A key is an index and the generation of the entry there.
///
/// An event lives from the return of the wait to the end of the same `drive`; a generation comes again after 2^32
/// registrations in the same entry.
#[derive(Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// Indices of the entries without a source.
    free: Vec<usize>,
    /// Nothing is added any more.
    closed: bool,
}

struct Entry {
    generation: usize,
    source: Option<Arc<Source>>,
}

impl Table {
    /// Adds a source and returns the key.
    pub(crate) fn insert(&mut self, source: Arc<Source>) -> io::Result<usize> {
        if self.closed {
            return Err(driver_closed());
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.entries.len() == MAX_INDEX => {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            None => {
                self.entries.push(Entry { generation: 0, source: None });
                self.entries.len() - 1
            }
        };
        self.entries[index].source = Some(source);
        Ok(self.entries[index].generation << INDEX_BITS | index)
    }

    /// Removes a source; the key finds nothing from now on.
    pub(crate) fn remove(&mut self, key: usize) -> Option<Arc<Source>> {
        self.get(key)?;
        let index = key & MAX_INDEX;
        let entry = &mut self.entries[index];
        // The shift of `insert` drops excess bits.
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(index);
        entry.source.take()
    }

    /// The source of a key, if it has not been removed.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> Option<&Arc<Source>> {
        let entry = self.entries.get(key & MAX_INDEX)?;
        let source = entry.source.as_ref();
        source.filter(|_| entry.generation << INDEX_BITS == key & !MAX_INDEX)
    }

    /// Adds nothing any more; returns every source.
    pub(crate) fn close(&mut self) -> Vec<Arc<Source>> {
        self.closed = true;
        self.entries.iter().filter_map(|entry| entry.source.clone()).collect()
    }

    /// How many sources there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::event::Trigger;
    use crate::sys::{Mode, Owned, Poller};

    #[test]
    fn a_former_key_of_a_taken_place_is_invalid() {
        let poller = Arc::new(Poller::new().unwrap());
        let mode = Mode { trigger: Trigger::Level, untried: true, short_is_last: true };
        let owned = || Owned::new(UnixStream::pair().unwrap().0, Arc::clone(&poller), mode);
        let (former, latter) = (owned(), owned());
        let mut table = Table::default();
        let old = table.insert(Arc::clone(former.source())).unwrap();
        assert!(Arc::ptr_eq(&table.remove(old).unwrap(), former.source()));
        let new = table.insert(Arc::clone(latter.source())).unwrap();
        assert_eq!(old & MAX_INDEX, new & MAX_INDEX, "the same entry");
        assert!(table.get(old).is_none() && table.remove(old).is_none());
        assert!(Arc::ptr_eq(table.get(new).unwrap(), latter.source()));
        assert_eq!(table.len(), 1);
    }
}
