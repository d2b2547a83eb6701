//! What programs expect of burst-pool 0.5; a test's name is its claim.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod api;
mod crew;
mod examples;
mod losses;
mod order;
mod waking;
