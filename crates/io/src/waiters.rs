//! The tasks that wait for a direction of a source.

use core::mem;
use core::task::Waker;

/// Which slot holds a task's waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotId {
    /// The slot of the `poll_` methods, which their tasks share.
    Polled,
    /// The slot of a future, by index; the future has it until it is dropped.
    Future(usize),
}

/// A future's slot.
#[derive(Debug)]
enum Slot {
    /// Belongs to no future.
    Free,
    /// The future has been woken, or does not wait yet.
    Idle,
    /// The future waits.
    Waiting(Waker),
}

/// The wakers of a direction. No method runs user code: each returns the wakers for the caller to drop.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// The waker of the last call of a `poll_` method.
    polled: Option<Waker>,
    /// The wakers of other tasks that have polled since the last event.
    ///
    /// *Not* a bound, beyond which a task is woken: a waker doesn't tell whether its task still waits, and waiting tasks would wake each
    /// other without end. Nor can ended tasks be told from tasks that wait for their turn.
    replaced: Vec<Waker>,
    /// The slots of futures.
    slots: Vec<Slot>,
}

impl Waiters {
    /// Gives a slot to a future.
    pub(crate) fn reserve(&mut self) -> SlotId {
        let free = self.slots.iter().position(|slot| matches!(slot, Slot::Free));
        let index = free.unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() - 1
        });
        self.slots[index] = Slot::Idle;
        SlotId::Future(index)
    }

    /// Frees a slot; returns the waker in it.
    #[must_use = "dropping it is user code"]
    pub(crate) fn release(&mut self, id: SlotId) -> Option<Waker> {
        match id {
            SlotId::Polled => self.polled.take(),
            SlotId::Future(index) => self.slots[index].replace(Slot::Free),
        }
    }

    /// Puts a waker into a slot; returns a waker it holds no more.
    #[must_use = "dropping it is user code"]
    pub(crate) fn insert(&mut self, id: SlotId, waker: Waker) -> Option<Waker> {
        match id {
            SlotId::Polled => self.insert_polled(waker),
            SlotId::Future(index) => self.slots[index].replace(Slot::Waiting(waker)),
        }
    }

    /// The waker of another task stays until the next event: if the other task were woken, it would poll and replace this
    /// waker, whose task would be woken, without end.
    fn insert_polled(&mut self, waker: Waker) -> Option<Waker> {
        if self.replaced.iter().any(|kept| kept.will_wake(&waker)) {
            return Some(waker);
        }
        let is_other = self.polled.as_ref().is_some_and(|polled| !polled.will_wake(&waker));
        let former = self.polled.replace(waker);
        if !is_other {
            return former;
        }
        self.replaced.extend(former);
        None
    }

    /// Whether no task waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.polled.is_none() && !self.slots.iter().any(|slot| matches!(slot, Slot::Waiting(_)))
    }

    /// Moves all wakers to `wakers`.
    pub(crate) fn take(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.polled.take());
        wakers.append(&mut self.replaced);
        for slot in &mut self.slots {
            if matches!(slot, Slot::Waiting(_)) {
                wakers.extend(slot.replace(Slot::Idle));
            }
        }
    }
}

impl Slot {
    fn replace(&mut self, new: Self) -> Option<Waker> {
        match mem::replace(self, new) {
            Self::Waiting(waker) => Some(waker),
            Self::Free | Self::Idle => None,
        }
    }
}
