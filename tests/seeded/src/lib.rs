//! Random programs over brigade's public interface, on threads whose every step obeys a seed: see `ci/seeded.sh`.
#![cfg(brigade_seeded)]
#![allow(clippy::disallowed_types, reason = "what a program counts is no step of it")]
#![allow(
    clippy::enum_variant_names,
    reason = "no two variants have the same name: printed code imports all"
)]

mod act;
mod cases;
mod ending;
mod explore;
mod forks;
mod futures;
mod gaps;
mod generate;
mod io;
mod jobs;
mod judge;
mod ledger;
mod levels;
mod meeting;
mod pools;
mod program;
mod shrink;
mod source;
mod timers;
mod verb;
mod waits;
mod world;

pub use explore::{main, run_input};
