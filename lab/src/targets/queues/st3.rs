//! st3: two rings in two modules, alike but for the order; and the same interface on brigade's rings, the package of
//! `crates/compat`.

use crate::target::queue::{CAPACITY, Deque, Item, Make, Missed, Stealer, half};
use crate::target::{Entry, Listing};

pub(crate) const LIFO: Listing<Make<st3::lifo::Worker<Item>>> = Listing {
    entry: Entry::peer("st3-lifo", "st3: lifo::Worker, bounded"),
    start: || st3::lifo::Worker::new(CAPACITY),
};
pub(crate) const FIFO: Listing<Make<st3::fifo::Worker<Item>>> = Listing {
    entry: Entry::peer("st3-fifo", "st3: fifo::Worker, bounded"),
    start: || st3::fifo::Worker::new(CAPACITY),
};

#[cfg(feature = "full")]
pub(crate) const LIFO_ON_BRIGADE: Listing<Make<brigade_st3::lifo::Worker<Item>>> = Listing {
    entry: Entry::own("brigade-st3-lifo", "st3's lifo::Worker on brigade").further(),
    start: || brigade_st3::lifo::Worker::new(CAPACITY),
};
#[cfg(feature = "full")]
pub(crate) const FIFO_ON_BRIGADE: Listing<Make<brigade_st3::fifo::Worker<Item>>> = Listing {
    entry: Entry::own("brigade-st3-fifo", "st3's fifo::Worker on brigade").further(),
    start: || brigade_st3::fifo::Worker::new(CAPACITY),
};

/// tokio's queue behind the interface of st3, built by `ci/lab.sh st3`. A theft takes half of the items, and no other number.
pub(crate) const TOKIO: Listing<Make<st3::fifo::Worker<Item>>> = Listing {
    entry: Entry::peer("tokio-fifo", "tokio's queue, as st3's benchmark has it, bounded")
        .elsewhere("brigade-lab-st3-tokio", "st3-fifo"),
    start: FIFO.start,
};

/// The ring of one module of one of the two crates.
macro_rules! ring {
    ($st3:ident::$order:ident) => {
        impl Deque for $st3::$order::Worker<Item> {
            type Stealer = $st3::$order::Stealer<Item>;

            #[inline]
            fn push(&self, item: Item) -> Result<(), Item> {
                Self::push(self, item)
            }

            #[inline]
            fn pop(&self) -> Option<Item> {
                Self::pop(self)
            }

            fn stealer(&self) -> Self::Stealer {
                Self::stealer(self)
            }
        }

        impl Stealer<$st3::$order::Worker<Item>> for $st3::$order::Stealer<Item> {
            #[inline]
            fn steal(&self, dest: &$st3::$order::Worker<Item>, batch: usize) -> Result<(), Missed> {
                Ok(Self::steal(self, dest, |_| batch).map(drop)?)
            }

            #[inline]
            fn steal_half(&self, dest: &$st3::$order::Worker<Item>) -> Result<Item, Missed> {
                Ok(self.steal_and_pop(dest, half).map(|(item, _)| item)?)
            }
        }
    };
}

/// The reasons of one of the two crates.
macro_rules! missed {
    ($error:ty) => {
        impl From<$error> for Missed {
            #[inline]
            fn from(error: $error) -> Self {
                match error {
                    <$error>::Empty => Missed::Empty,
                    <$error>::Busy => Missed::Busy,
                }
            }
        }
    };
}

ring!(st3::lifo);
ring!(st3::fifo);
#[cfg(feature = "full")]
ring!(brigade_st3::lifo);
#[cfg(feature = "full")]
ring!(brigade_st3::fifo);
missed!(st3::StealError);
#[cfg(feature = "full")]
missed!(brigade_st3::StealError);
