//! Items of all kinds: their sizes, and drops that panic or use the queue.

mod drops;
mod element_types;
mod panics;
