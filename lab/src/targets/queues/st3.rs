//! st3: two rings in two modules, alike but for the order.

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

/// The ring of one module.
macro_rules! ring {
    ($order:ident) => {
        impl Deque for st3::$order::Worker<Item> {
            type Stealer = st3::$order::Stealer<Item>;

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

        impl Stealer<st3::$order::Worker<Item>> for st3::$order::Stealer<Item> {
            #[inline]
            fn steal(&self, dest: &st3::$order::Worker<Item>, batch: usize) -> Result<(), Missed> {
                Ok(Self::steal(self, dest, |_| batch).map(drop)?)
            }

            #[inline]
            fn steal_half(&self, dest: &st3::$order::Worker<Item>) -> Result<Item, Missed> {
                Ok(self.steal_and_pop(dest, half).map(|(item, _)| item)?)
            }
        }
    };
}

ring!(lifo);
ring!(fifo);

impl From<st3::StealError> for Missed {
    #[inline]
    fn from(error: st3::StealError) -> Self {
        match error {
            st3::StealError::Empty => Missed::Empty,
            st3::StealError::Busy => Missed::Busy,
        }
    }
}
