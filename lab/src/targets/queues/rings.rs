//! The rings of brigade-queue and of st3, each in two modules, alike but for the order; and st3's interface on brigade's rings, the
//! package of `crates/compat`.

use crate::target::queue::{Deque, Item, Missed, half};

/// The ring of a module of either crate.
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

            #[inline]
            fn steal(&self, from: &Self::Stealer, batch: usize) -> Result<(), Missed> {
                Ok(from.steal(self, |_| batch).map(drop)?)
            }

            #[inline]
            fn steal_half(&self, from: &Self::Stealer) -> Result<Item, Missed> {
                Ok(from.steal_and_pop(self, half).map(|(item, _)| item)?)
            }
        }
    };
}

/// The reasons of either crate.
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

ring!(brigade_queue::lifo);
ring!(brigade_queue::fifo);
ring!(st3::lifo);
ring!(st3::fifo);
#[cfg(feature = "full")]
ring!(brigade_st3::lifo);
#[cfg(feature = "full")]
ring!(brigade_st3::fifo);
missed!(brigade_queue::StealError);
missed!(st3::StealError);
#[cfg(feature = "full")]
missed!(brigade_st3::StealError);
