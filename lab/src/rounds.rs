//! The targets take turns, in random order inside each round, so that drift (of the CPU's clock, or
//! by other load) affects all of them alike.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::failure::Failure;
use crate::fault::Fault;
use crate::pins::Pin;
use crate::report::Reporter;
use crate::report::book::SharedBook;
use crate::report::csv::Csv;
use crate::row::Row;
use crate::samples::Samples;
use crate::stop::Stop;
use crate::target::Entry;
use crate::workload::Terms;

/// A row, and the targets that take turns in it.
pub(crate) struct Contest {
    /// The workload.
    pub(crate) row: Box<dyn Row>,
    /// The targets, all of the row's family.
    pub(crate) targets: Vec<&'static Entry>,
}

/// The settings for the rounds of all contests.
pub(crate) struct Rules {
    /// Rounds that count.
    pub(crate) rounds: u64,
    /// How long to wait for a target that runs nothing.
    pub(crate) patience: Duration,
    /// Where the threads are, if that is not left to the kernel.
    pub(crate) pin: Option<Pin>,
    /// The fault to inject, and the name of the target.
    pub(crate) inject: Option<(Fault, &'static str)>,
    /// Where the single values go.
    pub(crate) samples: Option<Csv>,
}

impl Rules {
    /// The terms of a run on this target.
    pub(crate) fn terms(&self, target: &Entry) -> Terms {
        let injected = self.inject.filter(|(_, victim)| *victim == target.name);
        let fault = injected.map_or(Fault::None, |(fault, _)| fault);
        let samples = self.samples.as_ref().map_or(Samples::NONE, |_| Samples::leak());
        Terms { fault, patience: self.patience, pin: self.pin, samples }
    }
}

/// Measures one row in all its rounds; the results are on the book's last sheet.
///
/// A target that fails is out for the rest of the row, and has no number in it.
pub(crate) fn measure(
    contest: &Contest,
    rules: &Rules,
    book: &SharedBook,
    reporter: &Reporter,
    random: &mut SmallRng,
) -> Result<(), Stop> {
    let Contest { row, targets } = contest;
    book.open_sheet(&**row, targets);
    let mut targets = targets.clone();
    for round in 0..=rules.rounds {
        targets.shuffle(random);
        let mut standing = Vec::with_capacity(targets.len());
        for target in targets {
            reporter.announce(row.name(), target.name);
            let terms = rules.terms(target);
            let outcome = row.run(target, terms);
            reporter.advance(1);
            match outcome {
                Ok(values) => {
                    // The first round warms up: caches, page tables, and the clock of the CPU.
                    if round > 0 {
                        book.record(target, values);
                        if let Some(samples) = &rules.samples {
                            samples.samples(&**row, target, round, &terms.samples.take())?;
                        }
                    }
                    standing.push(target);
                }
                Err(Failure::Refused(error)) => {
                    let reason = format!("{} can't start: {error}", target.name);
                    book.strike(target, &reason);
                    return Err(Stop::Refused(reason));
                }
                Err(failure) => {
                    book.strike(target, &failure.to_string());
                    reporter.advance(rules.rounds - round);
                }
            }
        }
        targets = standing;
    }
    Ok(())
}
