//! The injector: an unbounded queue, in order, for any number of pushing and popping threads.
//!
//! A list of blocks with two indices, as in crossbeam's `SegQueue` and `Injector`. An index is a position shifted left by
//! 1; each block has [`LAP`](block::LAP) positions, of which the last has no slot. A push claims a position by advancing
//! the tail index, in the same step in which it sees that the queue is not closed. Then it writes the slot and marks it
//! ready. A pop claims a run of positions by advancing the head index, and reads each slot when it is ready.
//!
//! The push that claims the last slot of a block installs the next block. Until then the index is at the position without
//! a slot, and other threads wait. A block becomes a spare once all of its slots have been read.
//!
//! It is not lock-free in the strict sense. A pusher that is preempted between its claim and its store delays the pop that
//! claimed its slot. That pop yields the processor.

mod block;
mod list;
mod pop;
mod push;
mod sharded;

pub use list::Injector;
pub use sharded::{Cursor, ShardedInjector};
