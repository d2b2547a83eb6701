//! Items whose drops are counted one by one, without heap memory: a leaked item is no leak of memory.
//!
//! Drops are counted by thread, so tests do not disturb each other; each test begins with [`Ledger::open`].

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// The number of drops of each item, by its number.
    static DROPS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    /// The items whose drop panics.
    static BOMBS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// An item and its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item(pub(crate) usize);

impl Drop for Item {
    fn drop(&mut self) {
        DROPS.with_borrow_mut(|drops| drops[self.0] += 1);
        if BOMBS.with_borrow(|bombs| bombs.contains(&self.0)) {
            panic_quietly();
        }
    }
}

/// The items created on this thread since it was opened, and their drops.
pub(crate) struct Ledger(());

impl Ledger {
    pub(crate) fn open() -> Self {
        DROPS.with_borrow_mut(Vec::clear);
        BOMBS.with_borrow_mut(Vec::clear);
        Self(())
    }

    /// Makes the drop of the item with this number panic.
    pub(crate) fn arm(&self, number: usize) {
        BOMBS.with_borrow_mut(|bombs| bombs.push(number));
    }

    /// Creates the next item; they are numbered from 0 on.
    pub(crate) fn item(&self) -> Item {
        Self::item_of_this_thread()
    }

    /// Creates the next item for the ledger that is open on this thread.
    pub(crate) fn item_of_this_thread() -> Item {
        DROPS.with_borrow_mut(|drops| {
            drops.push(0);
            Item(drops.len() - 1)
        })
    }

    /// Creates `count` items, one by one.
    pub(crate) fn items(&self, count: usize) -> impl ExactSizeIterator<Item = Item> + '_ {
        (0..count).map(|_| self.item())
    }

    /// Returns the numbers of the items that have not been dropped.
    pub(crate) fn alive(&self) -> Vec<usize> {
        DROPS.with_borrow(|drops| {
            drops
                .iter()
                .enumerate()
                .filter(|(_, drops)| **drops == 0)
                .map(|(item, _)| item)
                .collect()
        })
    }

    /// Fails unless every item has been dropped once, except the leaked ones, which must not have been dropped.
    #[track_caller]
    pub(crate) fn close(self, leaked: impl IntoIterator<Item = usize>) {
        let leaked: Vec<_> = leaked.into_iter().collect();
        DROPS.with_borrow(|drops| {
            for (item, drops) in drops.iter().enumerate() {
                let expected = u32::from(!leaked.contains(&item));
                assert_eq!(*drops, expected, "drops of item {item}");
            }
        });
    }
}

/// Panics without a message on stderr.
pub(crate) fn panic_quietly() -> ! {
    resume_unwind(Box::new("expected"))
}

/// Runs a closure that must panic by [`panic_quietly`].
#[track_caller]
pub(crate) fn must_panic<R>(run: impl FnOnce() -> R) {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(_) => panic!("no panic came out"),
        Err(payload) => assert_eq!(payload.downcast_ref(), Some(&"expected")),
    }
}
