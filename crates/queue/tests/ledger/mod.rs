//! Items whose drops are counted one by one, without heap memory: to leak one is no leak of memory.
//!
//! The book is kept by thread, so tests do not disturb each other; each test begins with [`Ledger::open`].
#![allow(dead_code, reason = "each test file uses its share")]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// How often each item has been dropped, by its number.
    static DROPS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    /// The items whose drop panics.
    static BOMBS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// An item with the number of its making.
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

/// What has been made since it was opened, and what has become of it.
pub(crate) struct Ledger(());

impl Ledger {
    pub(crate) fn open() -> Self {
        DROPS.with_borrow_mut(Vec::clear);
        BOMBS.with_borrow_mut(Vec::clear);
        Self(())
    }

    /// Lets the drop of the item with this number panic.
    pub(crate) fn arm(&self, number: usize) {
        BOMBS.with_borrow_mut(|bombs| bombs.push(number));
    }

    /// Makes the next item; they are numbered from 0 on.
    pub(crate) fn item(&self) -> Item {
        Self::item_of_this_thread()
    }

    /// Makes the next item for the ledger that is open on this thread.
    pub(crate) fn item_of_this_thread() -> Item {
        DROPS.with_borrow_mut(|drops| {
            drops.push(0);
            Item(drops.len() - 1)
        })
    }

    /// Makes so many items, one by one.
    pub(crate) fn items(&self, count: usize) -> impl ExactSizeIterator<Item = Item> + '_ {
        (0..count).map(|_| self.item())
    }

    /// The numbers of the items that exist.
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

    /// Fails unless every item has been dropped once, but for those that may leak, which never were.
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

/// Panics without a word on stderr.
pub(crate) fn panic_quietly() -> ! {
    resume_unwind(Box::new("as told"))
}

/// Runs something that has to panic by [`panic_quietly`].
#[track_caller]
pub(crate) fn must_panic<R>(run: impl FnOnce() -> R) {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(_) => panic!("no panic came out"),
        Err(payload) => assert_eq!(payload.downcast_ref(), Some(&"as told")),
    }
}
