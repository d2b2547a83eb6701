//! The jobs of a set, in an array with two lists through it.
//!
//! A job's key is its index, with a generation above it, so that no key is used twice in a set. An entry is free, *pending* (in
//! the order in which jobs were added), or *ended* (in the order in which they ended). No step depends on how many there are.

use brigade_task::JoinHandle;

/// No entry.
const NONE: u32 = u32::MAX;

/// Where the generation begins in a key.
const GENERATION: u32 = 32;

/// The first allocation: enough for the ten children of a usual tree.
const FIRST: usize = 12;

/// An empty set keeps room for as many jobs.
const MANY: usize = 1024;

/// The jobs of a set.
pub(super) struct Roster<T> {
    entries: Vec<Entry<T>>,
    /// The first free entry; the next one is in its `next`.
    free: u32,
    pending: List,
    ended: List,
    /// The first pending job that no attempt was made to run.
    untried: u32,
    /// The generation of new entries.
    generation: u32,
}

struct Entry<T> {
    /// `None` while the job waits in the set, and in a free entry.
    handle: Option<JoinHandle<T>>,
    /// How many jobs have had this entry.
    generation: u32,
    /// Whether it is in the list of ended jobs.
    has_ended: bool,
    previous: u32,
    next: u32,
}

/// A doubly linked list of entries.
struct List {
    first: u32,
    last: u32,
    len: usize,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };

    fn push<T>(&mut self, entries: &mut [Entry<T>], index: u32) {
        (entries[index as usize].previous, entries[index as usize].next) = (self.last, NONE);
        match self.last {
            NONE => self.first = index,
            last => entries[last as usize].next = index,
        }
        self.last = index;
        self.len += 1;
    }

    fn remove<T>(&mut self, entries: &mut [Entry<T>], index: u32) {
        let (previous, next) = (entries[index as usize].previous, entries[index as usize].next);
        match previous {
            NONE => self.first = next,
            previous => entries[previous as usize].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => entries[next as usize].previous = previous,
        }
        self.len -= 1;
    }
}

impl<T> Roster<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: NONE,
            pending: List::EMPTY,
            ended: List::EMPTY,
            untried: NONE,
            generation: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len + self.ended.len
    }

    /// How many have ended.
    pub(super) fn ended(&self) -> usize {
        self.ended.len
    }

    fn key_of(&self, index: u32) -> u64 {
        (u64::from(self.entries[index as usize].generation) << GENERATION) | u64::from(index)
    }

    /// The entry with this key, if the job is in the set.
    fn find(&self, key: u64) -> Option<u32> {
        let index = key as u32;
        let entry = self.entries.get(index as usize)?;
        (u64::from(entry.generation) == key >> GENERATION).then_some(index)
    }

    /// The key of the job that is added next.
    pub(super) fn next_key(&mut self) -> u64 {
        let index = self.next_index();
        self.key_of(index)
    }

    /// The index of the job that is added next.
    pub(super) fn next_index(&mut self) -> u32 {
        if self.free == NONE {
            if self.entries.is_empty() {
                self.entries.reserve_exact(FIRST);
            }
            self.free = self.entries.len() as u32;
            assert!(self.free != NONE, "a set has less than 2^32 jobs");
            let (previous, next) = (NONE, NONE);
            let entry = Entry {
                handle: None,
                generation: self.generation,
                has_ended: false,
                previous,
                next,
            };
            self.entries.push(entry);
        }
        self.free
    }

    /// Adds a job with the [next key](Self::next_key).
    pub(super) fn add(&mut self, handle: Option<JoinHandle<T>>) {
        let index = self.free;
        let entry = &mut self.entries[index as usize];
        self.free = entry.next;
        entry.handle = handle;
        entry.has_ended = false;
        self.pending.push(&mut self.entries, index);
        if self.untried == NONE {
            self.untried = index;
        }
    }

    /// Sets the handle of a job that waited in the set.
    pub(super) fn set_handle(&mut self, key: u64, handle: JoinHandle<T>) {
        if let Some(index) = self.find(key) {
            self.entries[index as usize].handle = Some(handle);
        }
    }

    fn unlink_pending(&mut self, index: u32) {
        if self.untried == index {
            self.untried = self.entries[index as usize].next;
        }
        self.pending.remove(&mut self.entries, index);
    }

    /// Records that a pending job has ended.
    pub(super) fn end(&mut self, key: u64) {
        if let Some(index) = self.find(key) {
            self.end_at(index);
        }
    }

    /// Like [`end`](Self::end), with an index instead of a key.
    pub(super) fn end_at(&mut self, index: u32) {
        if !core::mem::replace(&mut self.entries[index as usize].has_ended, true) {
            self.unlink_pending(index);
            self.ended.push(&mut self.entries, index);
        }
    }

    fn release(&mut self, index: u32) -> Option<JoinHandle<T>> {
        let entry = &mut self.entries[index as usize];
        entry.next = self.free;
        // Wraps around after 2^32 jobs in one entry.
        entry.generation = entry.generation.wrapping_add(1);
        self.free = index;
        let handle = entry.handle.take();
        if self.len() == 0 && self.entries.len() > MANY {
            self.shrink();
        }
        handle
    }

    /// Frees the entries of an empty set that had many jobs.
    #[cold]
    fn shrink(&mut self) {
        // No key is used twice.
        let generations = self.entries.iter().map(|entry| entry.generation);
        self.generation = generations.max().unwrap_or_default();
        (self.entries, self.free, self.untried) = (Vec::new(), NONE, NONE);
    }

    /// Removes the job that ended first.
    pub(super) fn take_ended(&mut self) -> Option<JoinHandle<T>> {
        let index = self.ended.first;
        if index == NONE {
            return None;
        }
        self.ended.remove(&mut self.entries, index);
        self.release(index)
    }

    /// Removes a pending job.
    pub(super) fn take(&mut self, index: u32) -> Option<JoinHandle<T>> {
        debug_assert!(!self.entries[index as usize].has_ended, "it is pending");
        self.unlink_pending(index);
        self.release(index)
    }

    /// Removes the pending job that was added first.
    pub(super) fn take_pending(&mut self) -> Option<(u64, Option<JoinHandle<T>>)> {
        let index = self.pending.first;
        if index == NONE {
            return None;
        }
        let key = self.key_of(index);
        self.unlink_pending(index);
        Some((key, self.release(index)))
    }

    /// The first pending job that no attempt was made to run, for such an attempt; `None` also if it waits in the set.
    pub(super) fn try_next(&mut self) -> Option<(u32, &mut JoinHandle<T>)> {
        let index = self.untried;
        if index == NONE {
            return None;
        }
        let entry = &mut self.entries[index as usize];
        let handle = entry.handle.as_mut()?;
        self.untried = entry.next;
        Some((index, handle))
    }

    /// Forgets the handles of jobs that have not ended.
    pub(super) fn forget_unfinished(&mut self) {
        for entry in &mut self.entries {
            core::mem::forget(entry.handle.take_if(|handle| !handle.is_finished()));
        }
    }

    /// The pending jobs, in the order in which they were added.
    pub(super) fn pending(&self) -> impl Iterator<Item = &JoinHandle<T>> {
        let entry = |index: u32| (index != NONE).then(|| &self.entries[index as usize]);
        core::iter::successors(entry(self.pending.first), move |now| entry(now.next))
            .filter_map(|entry| entry.handle.as_ref())
    }

    /// Calls with each pending job that does not wait in the set, in the order in which they were added.
    pub(super) fn for_each_pending(&mut self, mut call: impl FnMut(u64, &mut JoinHandle<T>)) {
        let mut index = self.pending.first;
        while index != NONE {
            let key = self.key_of(index);
            let entry = &mut self.entries[index as usize];
            index = entry.next;
            entry.handle.iter_mut().for_each(|handle| call(key, handle));
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use brigade_testkit::Seed;

    #[test]
    fn an_empty_one_keeps_little_memory_and_uses_no_key_twice() {
        let mut roster = Roster::<()>::new();
        let mut keys = std::collections::HashSet::new();
        for _ in 0..3 {
            for _ in 0..=MANY {
                assert!(keys.insert(roster.next_key()), "a key of a former job");
                roster.add(None);
            }
            core::iter::from_fn(|| roster.take_pending()).for_each(drop);
            assert_eq!((roster.len(), roster.entries.capacity()), (0, 0));
        }
    }

    #[test]
    fn it_agrees_with_a_queue_of_pending_and_one_of_ended_jobs() {
        let mut seed = Seed::printed();
        let mut roster = Roster::<()>::new();
        let (mut pending, mut ended) = (VecDeque::new(), VecDeque::new());
        for _ in 0..10_000 {
            match seed.below(5) {
                0 | 1 => {
                    let key = roster.next_key();
                    assert!(!pending.contains(&key) && !ended.contains(&key));
                    roster.add(None);
                    pending.push_back(key);
                }
                2 if !pending.is_empty() => {
                    let key = pending.remove(seed.below(pending.len() as u64) as usize).unwrap();
                    roster.end(key);
                    roster.end(key);
                    ended.push_back(key);
                }
                3 => {
                    let first = ended.pop_front();
                    assert_eq!(roster.ended.first == NONE, first.is_none());
                    assert!(first.is_none_or(|key| key == roster.key_of(roster.ended.first)));
                    assert!(roster.take_ended().is_none());
                    first.into_iter().for_each(|key| roster.end(key)); // No longer in the set.
                }
                _ => {
                    let untried = (roster.untried != NONE).then(|| roster.key_of(roster.untried));
                    assert!(untried.is_none_or(|key| pending.contains(&key)));
                    if seed.below(7) == 0 {
                        let first = roster.take_pending().map(|(key, _)| key);
                        assert_eq!(first, pending.pop_front());
                    }
                }
            }
            assert_eq!((roster.len(), roster.ended()), (pending.len() + ended.len(), ended.len()));
            assert!(roster.entries.len() < 10_000);
        }
    }
}
