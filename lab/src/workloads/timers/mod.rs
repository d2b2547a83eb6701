//! Timers: those that fire, of which the CPU time and the lateness count, and those that are cancelled before.
//!
//! A timer is a task that sleeps, or a closure with a time. brigade has timers of its own for closures; the other runtimes have
//! a task that sleeps and calls it, which is what their users write.

pub(crate) mod fired;
pub(crate) mod options;
pub(crate) mod unfired;

use clap::ValueEnum;
use serde::Serialize;

/// What waits for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    /// Tasks that sleep.
    Future,
    /// Closures.
    Closure,
}

#[cfg(test)]
mod tests;
