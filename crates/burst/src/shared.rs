//! What sender and receivers share: the chain of groups, and what dropped receivers left.

use std::iter;
use std::sync::Arc;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, Ordering};

use crate::group::Group;

/// One channel.
pub(crate) struct Shared<T> {
    /// The chain of groups.
    first: Arc<Group<T>>,
    /// Whether the sender is gone.
    closed: AtomicBool,
    /// Values whose receivers were dropped while nobody else waited. Only moved under the lock, never dropped.
    left_behind: Mutex<Vec<T>>,
}

impl<T> Shared<T> {
    pub(crate) fn new() -> Self {
        Self {
            first: Arc::new(Group::new()),
            closed: AtomicBool::new(false),
            left_behind: Mutex::new(Vec::new()),
        }
    }

    /// The groups, oldest first.
    #[inline]
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Arc<Group<T>>> {
        iter::successors(Some(&self.first), |group| group.next.get())
    }

    /// Finds a seat that nobody has, in a new group if need be.
    pub(crate) fn sit(&self) -> (Arc<Group<T>>, u32) {
        let mut group = &self.first;
        loop {
            if let Some(seat) = group.sit() {
                return (group.clone(), seat);
            }
            group = group.next.get_or_init(|| Arc::new(Group::new()));
        }
    }

    /// The group from which a search begins.
    #[inline]
    pub(crate) fn first(&self) -> &Group<T> {
        &self.first
    }

    /// Hands a value to anybody who waits, and returns its seat in `from`, which becomes its group. Rings no bell.
    ///
    /// Looks from there on, then everywhere: with hundreds of receivers a burst need not begin at the front for each
    /// value.
    #[inline]
    pub(crate) fn hand_over<'a>(&'a self, from: &mut &'a Group<T>, mut value: T) -> Result<u32, T> {
        let behind = iter::successors(Some(*from), |group| group.next.get().map(|next| &**next));
        for group in behind.chain(self.groups().map(|group| &**group)) {
            match group.hand_over(value) {
                Ok(seat) => {
                    *from = group;
                    return Ok(seat);
                }
                Err(refused) => value = refused,
            }
        }
        Err(value)
    }

    /// Finds another place for a value whose receiver is gone: with somebody who waits, or on the list.
    pub(crate) fn hand_on(&self, value: T) {
        let mut group = self.first();
        match self.hand_over(&mut group, value) {
            Ok(seat) => group.ring_for(seat),
            Err(value) => self.left_behind.lock().push(value),
        }
    }

    /// Takes all that dropped receivers left.
    pub(crate) fn take_back(&self) -> Vec<T> {
        std::mem::take(&mut *self.left_behind.lock())
    }

    /// Takes the oldest of what dropped receivers left.
    pub(crate) fn inherit(&self) -> Option<T> {
        let mut values = self.left_behind.lock();
        (!values.is_empty()).then(|| values.remove(0))
    }

    /// The sender goes.
    pub(crate) fn close(&self) {
        // Ordering: Release pairs with the Acquire in `is_closed`: all that was handed over is in its slot.
        self.closed.store(true, Ordering::Release);
        // Their tokens publish it to those who sleep.
        self.groups().for_each(|group| group.ring_for_all());
    }

    /// Whether the sender is gone.
    pub(crate) fn is_closed(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `close`.
        self.closed.load(Ordering::Acquire)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // One after the other: a long chain must not take a long stack. Receivers give their group up before this.
        let first = Arc::get_mut(&mut self.first);
        let mut next = first.and_then(|first| first.next.take());
        while let Some(group) = next {
            next = Arc::into_inner(group).and_then(|mut group| group.next.take());
        }
    }
}
