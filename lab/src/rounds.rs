//! The targets take turns, in random order inside each round, so that drift (of the CPU's clock, or
//! by other load) affects all of them alike.

use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::book::SharedBook;
use crate::failure::Failure;
use crate::fault::Fault;
use crate::limits;
use crate::pins::Pin;
use crate::report::Reporter;
use crate::row::Row;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::target::Entry;
use crate::usage::{Spent, Usage};
use crate::workload::Bench;

/// When a row ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// After the rounds.
    Rounds,
    /// When the interval of brigade's ratio to the best peer is this narrow, or when there is a verdict; or after this time.
    Known(Option<f64>, Duration),
    /// After this time, whatever the rounds.
    Time(Duration),
}

/// The settings for the rounds of all rows.
pub(crate) struct Rules {
    /// Counted rounds, or the fewest of them.
    pub(crate) rounds: u64,
    /// The end of a row after these rounds.
    pub(crate) until: Until,
    /// How long to wait for an idle target.
    pub(crate) patience: Duration,
    /// Where the threads are, if not left to the kernel.
    pub(crate) pin: Option<Pin>,
    /// The fault to inject, and the name of the target.
    pub(crate) inject: Option<(Fault, &'static str)>,
}

impl Rules {
    /// Whether a row after this many rounds in this time needs no further round.
    fn is_enough(&self, rounds: u64, time: Duration, book: &SharedBook) -> bool {
        match self.until {
            Until::Time(all) => time >= all,
            _ if rounds < self.rounds => false,
            Until::Rounds => true,
            Until::Known(width, at_most) => {
                rounds >= limits::MAX_ROUNDS || time >= at_most || book.lock().is_decided(width)
            }
        }
    }

    /// The inputs of a run on this target.
    pub(crate) fn bench(&self, target: &Entry) -> Bench {
        let injected = self.inject.filter(|(_, victim)| *victim == target.name);
        let fault = injected.map_or(Fault::None, |(fault, _)| fault);
        Bench { fault, patience: self.patience, pin: self.pin, tally: Tally::leak() }
    }
}

/// Measures a row in all rounds; the results are on the book's last sheet.
///
/// A failing target is out for the rest of the row, and has no number in it.
pub(crate) fn measure(
    row: &Row,
    rules: &Rules,
    book: &SharedBook,
    reporter: &Reporter,
    random: &mut SmallRng,
) -> Result<(), Stop> {
    book.lock().open_sheet(row.sheet.on(&row.targets));
    let mut targets = row.targets.clone();
    let begun = Instant::now();
    for round in 0.. {
        targets.shuffle(random);
        let mut standing = Vec::with_capacity(targets.len());
        for target in targets {
            reporter.announce(&row.sheet.workload, target.name);
            let bench = rules.bench(target);
            let (start, before) = (Instant::now(), Usage::of_all());
            // The first round warms up: caches, page tables, and the clock of the CPU. It is not timed.
            let outcome = row.run(target, bench);
            let (wall, usage) = (start.elapsed().as_secs_f64(), Usage::of_all().plus(before, -1.0));
            match outcome {
                Ok(values) => {
                    if round > 0 {
                        let count = bench.tally.values();
                        book.lock().record(target, values, Spent { wall, usage, count });
                    }
                    standing.push(target);
                }
                Err(Failure::Refused(error)) => {
                    let reason = format!("{} can't start: {error}", target.name);
                    book.lock().strike(target, &reason);
                    return Err(Stop::Refused(reason));
                }
                Err(failure) => book.lock().strike(target, &failure.to_string()),
            }
        }
        targets = standing;
        if targets.is_empty() || rules.is_enough(round, begun.elapsed(), book) {
            break;
        }
    }
    book.lock().close_sheet(false);
    Ok(())
}
