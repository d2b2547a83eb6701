//! Behaviour of the queues: one file per topic, and a test's name is its claim.
//!
//! Not here: `allocations`, which has an allocator of its own, `stress`, which `ci/soak.sh` runs by its name, and the loom
//! models in `loom/`.
#![cfg(not(brigade_loom))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

mod ledger;
mod model;

mod exactly_once;
mod injector;
mod items;
mod ring;
mod sequences;
