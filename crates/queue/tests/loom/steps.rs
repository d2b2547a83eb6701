//! What the models of the queues share: operations that begin with a turn, and the check of the items.
//!
//! Items are numbers. Each model collects the items that each thread got, and asserts that every number is there once. Loom
//! itself fails a model in which a slot is written while it is read.

// Each of the test binaries takes a part of it.
#![allow(dead_code, unused_macros)]

use std::iter;

use brigade_queue::{Order, StealError, Stealer, Worker};
use brigade_sync::model::turn;

/// Returns a ring that holds `items`.
pub(crate) fn ring<O: Order>(
    capacity: usize,
    items: impl IntoIterator<Item = u32>,
) -> Worker<u32, O> {
    let worker = Worker::new(capacity);
    items.into_iter().for_each(|item| worker.push(item).unwrap());
    worker
}

/// Pops the remaining items, when all other threads are done.
pub(crate) fn rest<O: Order>(worker: &Worker<u32, O>) -> Vec<u32> {
    iter::from_fn(|| worker.pop()).collect()
}

pub(crate) fn push<O: Order>(worker: &Worker<u32, O>, item: u32) -> Result<(), u32> {
    turn();
    worker.push(item)
}

pub(crate) fn pop<O: Order>(worker: &Worker<u32, O>) -> Option<u32> {
    turn();
    worker.pop()
}

/// Steals one item, and tries once more if another thief held a claim.
pub(crate) fn steal<O: Order>(stealer: &Stealer<u32, O>) -> Option<u32> {
    turn();
    match stealer.steal_one() {
        Err(StealError::Busy) => stealer.steal_one().ok(),
        other => other.ok(),
    }
}

/// Asserts that every item is in one of the parts, once.
#[track_caller]
pub(crate) fn assert_each_once(parts: &[&[u32]], count: u32) {
    let mut all = parts.concat();
    all.sort_unstable();
    assert_eq!(all, (0..count).collect::<Vec<_>>());
}

/// Makes a test of each model for either order.
macro_rules! in_both_orders {
    ($($name:ident: $model:ident;)*) => {
        mod last_in_first_out {
            $(#[test] fn $name() { super::$model::<brigade_queue::lifo::Lifo>(); })*
        }
        mod first_in_first_out {
            $(#[test] fn $name() { super::$model::<brigade_queue::fifo::Fifo>(); })*
        }
    };
}
