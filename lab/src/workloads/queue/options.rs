//! The options of `queue` on the command line, and which pattern has which.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id, ValueEnum};

use super::{Executor, Fill, PushPop, Queue, Steal};
use crate::limits::{self, whole};

/// What is done with the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pattern {
    /// One thread pushes 64 items, and pops them: time per 64 of both.
    PushPopSmall,
    /// One thread pushes 256 items, and pops them: time per 256 of both.
    PushPopLarge,
    /// Threads run tasks that push themselves again, and steal when they have none: time until all
    /// are done.
    Executor,
    /// A thread steals a batch at a time: time per item stolen.
    Steal,
    /// Threads push to a shared queue: time from the first push to the last, over their number.
    Injector,
}

/// The options as they stand on the command line.
#[derive(Args, Debug)]
struct Options {
    /// What is done with the queues.
    #[arg(long, value_enum, default_value = "push-pop-small")]
    pattern: Pattern,
    /// Threads of the executor [default: 4]
    #[arg(long, value_parser = whole::<1, { limits::MAX_WORKERS }>)]
    workers: Option<u64>,
    /// Items stolen at a time by steal [default: 8]
    #[arg(long, value_parser = whole::<1, { limits::MAX_BATCH }>)]
    batch: Option<u64>,
    /// Threads that push to the injector [default: 1]
    #[arg(long, value_parser = whole::<1, { limits::MAX_PRODUCERS }>)]
    producers: Option<u64>,
    /// Items that all of them push to the injector, together [default: 1500]
    #[arg(long, value_parser = whole::<1, { limits::MAX_ITEMS }>)]
    items: Option<u64>,
    /// Times that are taken in a run, which yields their median [default: as many as the pattern
    /// needs to be steady]
    #[arg(long, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    repetitions: Option<u64>,
}

impl Options {
    /// The pattern with its options, if it has all that are given.
    fn queue(self) -> Result<Queue, Error> {
        let Options { pattern, workers, batch, producers, items, repetitions } = self;
        let of = |option: &str, value: Option<u64>, owner: Pattern| match value {
            Some(_) if pattern != owner => Err(Error::raw(
                ErrorKind::ArgumentConflict,
                format!("--{option} is for the pattern {} only\n", name(owner)),
            )),
            _ => Ok(value),
        };
        let workers = of("workers", workers, Pattern::Executor)?.unwrap_or(4);
        let batch = of("batch", batch, Pattern::Steal)?.unwrap_or(8);
        let producers = of("producers", producers, Pattern::Injector)?.unwrap_or(1);
        let items = of("items", items, Pattern::Injector)?.unwrap_or(1_500);
        let repetitions = |default| repetitions.unwrap_or(default);
        Ok(match pattern {
            Pattern::PushPopSmall => Queue::PushPop(PushPop::small(repetitions(400))),
            Pattern::PushPopLarge => Queue::PushPop(PushPop::large(repetitions(200))),
            Pattern::Executor => {
                Queue::Executor(Executor { workers, repetitions: repetitions(200) })
            }
            Pattern::Steal => Queue::Steal(Steal { batch, repetitions: repetitions(1_000) }),
            Pattern::Injector => {
                Queue::Fill(Fill { producers, items, repetitions: repetitions(1_000) })
            }
        })
    }
}

/// What the command line calls a pattern.
fn name(pattern: Pattern) -> String {
    pattern.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

// clap reads the options, and what comes of them is the pattern: no row can hold an option that its
// pattern doesn't have.

impl FromArgMatches for Queue {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Options::from_arg_matches(matches)?.queue()
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Queue {
    fn group_id() -> Option<Id> {
        Options::group_id()
    }

    fn augment_args(command: Command) -> Command {
        Options::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Options::augment_args_for_update(command)
    }
}
