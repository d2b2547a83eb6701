//! Which source is meant by a key, and that a key of a former one means nobody.

use std::io;
use std::sync::Arc;

use crate::error::driver_closed;
use crate::sys::Source;

/// How many bits of a key are the index: half of it, or on 32 bits a million sources with 4096 generations.
const INDEX_BITS: u32 = if usize::BITS >= 64 { 32 } else { 20 };
/// The largest index is no source's: keys with it are those of bells.
const MOST: usize = (1 << INDEX_BITS) - 1;

/// The sources of a driver, by key.
///
/// A key is an index and the index's generation. An event lives from the wait that brought it to the end of the same
/// `drive`; a generation comes again after 2^32 registrations in the same place.
#[derive(Default)]
pub(crate) struct Table {
    places: Vec<Place>,
    /// Indices of the places without a source.
    free: Vec<usize>,
    /// Nothing is added any more.
    closed: bool,
}

struct Place {
    generation: usize,
    source: Option<Arc<Source>>,
}

impl Table {
    /// Adds a source and returns its key.
    pub(crate) fn insert(&mut self, source: Arc<Source>) -> io::Result<usize> {
        if self.closed {
            return Err(driver_closed());
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.places.len() == MOST => return Err(io::ErrorKind::OutOfMemory.into()),
            None => {
                self.places.push(Place { generation: 0, source: None });
                self.places.len() - 1
            }
        };
        self.places[index].source = Some(source);
        Ok(self.places[index].generation << INDEX_BITS | index)
    }

    /// Takes a source out: from now on its key means nobody.
    pub(crate) fn remove(&mut self, key: usize) -> Option<Arc<Source>> {
        self.get(key)?;
        let index = key & MOST;
        let place = &mut self.places[index];
        // The shift of `insert` drops what is too much.
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index);
        place.source.take()
    }

    /// The source that a key means, if it is still there.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> Option<&Arc<Source>> {
        self.places.get(key & MOST)?.source_of(key)
    }

    /// Adds nothing any more; returns every source there is.
    pub(crate) fn close(&mut self) -> Vec<Arc<Source>> {
        self.closed = true;
        self.places.iter().filter_map(|place| place.source.clone()).collect()
    }

    /// How many sources there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl Place {
    /// Its source, if the key means that one.
    #[inline]
    fn source_of(&self, key: usize) -> Option<&Arc<Source>> {
        let source = self.source.as_ref();
        source.filter(|_| self.generation << INDEX_BITS == key & !MOST)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::Trigger;
    use crate::readiness::Readiness;
    use crate::sys::{Owned, Poller};
    use crate::waiting::State;

    #[test]
    fn a_former_key_means_nobody_although_its_place_is_taken() {
        let poller = Arc::new(Poller::new(Trigger::Level).unwrap());
        let owned = || {
            let readiness = [Readiness::new(true), Readiness::new(true)];
            let (stream, _) = UnixStream::pair().unwrap();
            Owned::new(stream, Arc::clone(&poller), readiness, State::new(Trigger::Level, false))
        };
        let (former, latter) = (owned(), owned());
        let mut table = Table::default();
        let old = table.insert(Arc::clone(former.source())).unwrap();
        assert!(Arc::ptr_eq(&table.remove(old).unwrap(), former.source()));
        let new = table.insert(Arc::clone(latter.source())).unwrap();
        assert_eq!(old & MOST, new & MOST, "the same place");
        assert!(table.get(old).is_none() && table.remove(old).is_none());
        assert!(Arc::ptr_eq(table.get(new).unwrap(), latter.source()));
        assert_eq!(table.len(), 1);
    }
}
