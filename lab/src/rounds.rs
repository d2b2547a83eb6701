//! The targets take turns, in random order inside each round, so that whatever drifts (the clock
//! of the CPU, a neighbour on the machine) hits all of them alike.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::cli::Options;
use crate::dispatch::{self, Terms};
use crate::report::Reporter;
use crate::report::book::SharedBook;
use crate::stop::Stop;
use crate::supervise::Failure;
use crate::targets::Entry;
use crate::workloads::Row;

/// A row, and the targets that take turns in it.
pub(crate) struct Contest {
    /// What is measured.
    pub(crate) row: Row,
    /// On what; all of the row's family.
    pub(crate) targets: Vec<&'static Entry>,
}

/// Measures one row in all its rounds; what came of it is on the book's last sheet.
///
/// A target that fails is out for the rest of the row, and has no number in it.
pub(crate) fn measure(
    contest: &Contest,
    options: &Options,
    book: &SharedBook,
    reporter: &Reporter,
    random: &mut SmallRng,
) -> Result<(), Stop> {
    let Contest { row, targets } = contest;
    book.open_sheet(row, targets);
    let mut targets = targets.clone();
    for round in 0..=options.rounds {
        targets.shuffle(random);
        let mut standing = Vec::with_capacity(targets.len());
        for target in targets {
            reporter.announce(row.name(), target.name);
            let terms = Terms { fault: options.fault(target), patience: options.patience() };
            let outcome = dispatch::run(row, target.kind, terms);
            reporter.advance(1);
            match outcome {
                Ok(values) => {
                    // The first round warms up: caches, page tables, and the clock of the CPU.
                    if round > 0 {
                        book.record(target, values);
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
                    reporter.advance(options.rounds - round);
                }
            }
        }
        targets = standing;
    }
    Ok(())
}
