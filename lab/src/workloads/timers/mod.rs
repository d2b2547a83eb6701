//! Timers: those that fire, of which the CPU time and the lateness count, and those that are cancelled before.
//!
//! A timer is a task that sleeps, or a closure with a time. brigade has timers of its own for closures; the other runtimes have
//! a task that sleeps and calls it, which is what their users write.

pub(crate) mod fired;
pub(crate) mod unfired;

use self::fired::{Fired, Times};
use self::unfired::Unfired;
use crate::workloads::prelude::*;

/// What waits for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    /// Tasks that sleep.
    Future,
    /// Closures.
    Closure,
}

/// When timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pattern {
    /// Spread over a period.
    Spread,
    /// All of them at one instant.
    Instant,
    /// Never: each is cancelled before its time.
    Unfired,
}

/// Options of `timers`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// When they fire.
    #[arg(long, value_enum, default_value = "spread")]
    pattern: Pattern,
    /// What waits for a time.
    #[arg(long, value_enum, default_value = "future")]
    by: By,
    /// Timers of a run [default: 10000, and 300000 that never fire]
    #[arg(long, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    timers: Option<u64>,
    /// Milliseconds over which those of `spread` are spread [default: 1000]
    #[arg(long, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    millis: Option<u64>,
    /// Threads that run the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
}

impl AsRow for Options {
    fn row(&self) -> Result<Row, Stop> {
        if self.millis.is_some() && self.pattern != Pattern::Spread {
            return Err(Stop::Usage("--millis is for the pattern spread only".to_owned()));
        }
        let (by, threads) = (self.by, self.threads);
        let fired = |times| Fired { times, by, timers: self.timers.unwrap_or(10_000), threads };
        match self.pattern {
            Pattern::Spread => fired(Times::Spread { millis: self.millis.unwrap_or(1_000) }).row(),
            Pattern::Instant => fired(Times::Instant).row(),
            Pattern::Unfired => {
                Unfired { by, timers: self.timers.unwrap_or(300_000), threads }.row()
            }
        }
    }
}

#[cfg(test)]
mod tests;
