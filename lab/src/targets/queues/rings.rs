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
                let stolen = from.steal(self, |_| batch).map(drop);
                stolen.map_err(|error| missed(matches!(error, $st3::StealError::Empty)))
            }

            #[inline]
            fn steal_half(&self, from: &Self::Stealer) -> Result<Item, Missed> {
                let stolen = from.steal_and_pop(self, half).map(|(item, _)| item);
                stolen.map_err(|error| missed(matches!(error, $st3::StealError::Empty)))
            }
        }
    };
}

/// The reason of either crate, which have no others.
#[inline]
fn missed(is_empty: bool) -> Missed {
    if is_empty { Missed::Empty } else { Missed::Busy }
}

ring!(brigade_queue::lifo);
ring!(brigade_queue::fifo);
ring!(st3::lifo);
ring!(st3::fifo);
#[cfg(feature = "full")]
ring!(brigade_st3::lifo);
#[cfg(feature = "full")]
ring!(brigade_st3::fifo);
