//! The state shared by sender and receivers: the chain of groups, and the values left by dropped receivers.

use std::iter;
use std::sync::Arc;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, Ordering};

use crate::cursor::Cursor;
use crate::group::Group;
use crate::policy::{Delivery, Turns};

/// A channel.
pub(crate) struct Shared<T> {
    /// The first group of the chain.
    first: Arc<Group<T>>,
    /// Which receiver is handed a value.
    turns: Turns,
    /// When a value may be received.
    delivery: Delivery,
    /// Whether the sender has been dropped.
    closed: AtomicBool,
    /// Values whose receivers were dropped while no other receiver waited. Only moved under the lock, never dropped.
    undelivered: Mutex<Vec<T>>,
    /// Whose turn it is; unused if receivers are not served in turns.
    cursor: Cursor,
}

impl<T> Shared<T> {
    pub(crate) fn new(turns: Turns, delivery: Delivery) -> Self {
        Self {
            first: Arc::new(Group::new()),
            turns,
            delivery,
            closed: AtomicBool::new(false),
            undelivered: Mutex::new(Vec::new()),
            cursor: Cursor::default(),
        }
    }

    /// Returns when a value may be received.
    #[inline]
    pub(crate) fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Iterates over the groups, the oldest first.
    #[inline]
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Arc<Group<T>>> {
        iter::successors(Some(&self.first), |group| group.next.get())
    }

    /// Takes a free seat, in a new group if necessary.
    pub(crate) fn take_seat(&self) -> (Arc<Group<T>>, u32) {
        let mut group = &self.first;
        loop {
            if let Some(seat) = group.take_seat() {
                return (group.clone(), seat);
            }
            group = group.next.get_or_init(|| Arc::new(Group::new()));
        }
    }

    /// Returns the group from which a search begins.
    #[inline]
    pub(crate) fn first(&self) -> &Group<T> {
        &self.first
    }

    /// Hands a value to the waiting receiver named by the turns, whose wake is then pending; returns its seat, and the group
    /// in `from`.
    #[inline]
    pub(crate) fn dispatch<'a>(&'a self, from: &mut &'a Group<T>, value: T) -> Result<u32, T> {
        match self.turns {
            Turns::AwakeFirst => self.dispatch_awake_first(from, value),
            Turns::RoundRobin => self.dispatch_in_turn(from, value),
        }
    }

    /// Searches from the group `from` on, then all groups: with hundreds of receivers a burst need not begin at the first
    /// group for each value.
    #[inline]
    fn dispatch_awake_first<'a>(&'a self, from: &mut &'a Group<T>, mut value: T) -> Result<u32, T> {
        let behind = iter::successors(Some(*from), |group| group.next.get().map(|next| &**next));
        for group in behind.chain(self.groups().map(|group| &**group)) {
            match group.dispatch(value) {
                Ok(seat) => {
                    *from = group;
                    return Ok(seat);
                }
                Err(rejected) => value = rejected,
            }
        }
        Err(value)
    }

    /// Searches from the cursor on, then all groups. A separate function, so channels without turns have none of this code.
    #[inline(never)]
    fn dispatch_in_turn<'a>(&'a self, found: &mut &'a Group<T>, mut value: T) -> Result<u32, T> {
        let (first, seat) = self.cursor.position();
        let groups = || self.groups().enumerate();
        let behind = groups().skip(first).zip(iter::once(seat).chain(iter::repeat(0)));
        for ((index, group), from) in behind.chain(groups().zip(iter::repeat(0))) {
            match group.dispatch_from(from, value) {
                Ok(seat) => {
                    self.cursor.move_behind(index, seat);
                    *found = group;
                    return Ok(seat);
                }
                Err(rejected) => value = rejected,
            }
        }
        Err(value)
    }

    /// Passes on the value of a dropped receiver: to a waiting receiver, which is woken, or to the undelivered values.
    pub(crate) fn redispatch(&self, value: T) {
        let mut group = self.first();
        match self.dispatch(&mut group, value) {
            Ok(seat) => group.wake_seat(seat),
            Err(value) => self.undelivered.lock().push(value),
        }
    }

    /// Takes all undelivered values.
    pub(crate) fn take_undelivered(&self) -> Vec<T> {
        std::mem::take(&mut *self.undelivered.lock())
    }

    /// Takes the oldest undelivered value.
    pub(crate) fn pop_undelivered(&self) -> Option<T> {
        let mut values = self.undelivered.lock();
        (!values.is_empty()).then(|| values.remove(0))
    }

    /// Disconnects the receivers when the sender is dropped.
    pub(crate) fn close(&self) {
        // Ordering: Release pairs with the Acquire in `is_closed`: all values handed over are in their slots.
        self.closed.store(true, Ordering::Release);
        // The tokens publish it to sleeping receivers.
        self.groups().for_each(|group| group.wake_all());
    }

    /// Returns whether the sender has been dropped.
    pub(crate) fn is_closed(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `close`.
        self.closed.load(Ordering::Acquire)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // In a loop: a long chain must not need a large stack. Receivers drop their group before this.
        let first = Arc::get_mut(&mut self.first);
        let mut next = first.and_then(|first| first.next.take());
        while let Some(group) = next {
            next = Arc::into_inner(group).and_then(|mut group| group.next.take());
        }
    }
}
