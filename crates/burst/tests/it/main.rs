//! Behaviour of the channel: one file per topic, and a test's name is its claim.
//!
//! Not here: tests that need a process of their own (allocations, signals, system calls).

#![cfg(not(brigade_loom))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod crew;
mod tally;

mod delivery;
mod dropped_receivers;
mod ending;
mod handing_over;
mod iterators;
mod seats;
mod storm;
mod timeouts;
mod turns;
mod waking;
