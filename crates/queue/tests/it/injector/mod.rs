//! The injectors.

mod edges;
mod sharded;
