//! Behaviour of the channel: one file per group of claims, and a test's name is its claim.
//!
//! Not here: what needs the whole process for itself (allocations, signals, system calls). Those are test binaries of
//! their own beside this folder.

#![cfg(not(brigade_loom))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod crew;
mod tally;

mod dropped_receivers;
mod ending;
mod handing_over;
mod iterators;
mod seats;
mod storm;
mod timeouts;
mod waking;
