//! The replacements of `brigade-sync`'s atomics, locks and clock in tests.
//!
//! A test calls [`step`] after each atomic operation, and before each lock, wait and use of a parker. With `--cfg
//! brigade_delays` a step mostly does nothing, and sometimes waits for a random time: the module `delays` says how. With
//! `--cfg brigade_seeded` a seeded scheduler chooses at each step which thread goes on: the module `seeded`.

// Shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// It stands below the types for the other crates.
#![allow(clippy::disallowed_types)]

pub mod atomic;
#[cfg(not(brigade_seeded))]
mod delays;
#[cfg(brigade_seeded)]
pub mod seeded;

#[cfg(not(brigade_seeded))]
pub use delays::step;
#[cfg(brigade_seeded)]
pub use seeded::step;
