//! A workload with its options, whichever it is: a subcommand or a part of one, a table, and a row of the plans.

use std::fmt::Debug;

use crate::apart;
use crate::dispatch::{self, Run};
use crate::failure::Failure;
use crate::needs::Needs;
use crate::stop::Stop;
use crate::target::{Accept, Entry, Family};
use crate::workload::{Meaning, Metric, Outcome, Params, Terms, Workload};

/// A workload with its options. What a method says, [`Workload`] says.
pub(crate) trait Row: Debug {
    /// See [`Workload::NAME`].
    fn name(&self) -> &'static str;
    /// See [`Workload::MEANING`].
    fn meaning(&self) -> Meaning;
    /// See [`Workload::FURTHER`].
    fn further(&self) -> &'static [&'static str] {
        &[]
    }
    /// See [`Workload::PINS`].
    fn pins(&self) -> bool {
        false
    }
    /// See [`Workload::METRICS`].
    fn metrics(&self) -> &'static [Metric];
    /// See [`Workload::params`].
    fn params(&self) -> Params;
    /// See [`Workload::check`].
    fn check(&self) -> Result<(), Stop> {
        Ok(())
    }
    /// See [`Workload::note`].
    fn note(&self) -> Option<String> {
        None
    }
    /// See [`Workload::needs`].
    fn needs(&self, target: &Entry) -> Needs;
    /// The targets of its family that it can be measured on, in the order of the table.
    fn targets(&self) -> Vec<&'static Entry>;
    /// Whether such a run has a process of its own.
    fn is_apart(&self, _target: &Entry) -> bool {
        false
    }
    /// Runs once on a fresh target.
    fn run(&self, target: &'static Entry, terms: Terms) -> Outcome;
    /// The same in this process, even if a run has one of its own.
    fn run_here(&self, target: &'static Entry, terms: Terms) -> Outcome {
        self.run(target, terms)
    }
}

impl<W: Workload> Row for W
where
    W::Family: Accept<Run<W>>,
{
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn meaning(&self) -> Meaning {
        W::MEANING
    }

    fn further(&self) -> &'static [&'static str] {
        W::FURTHER
    }

    fn pins(&self) -> bool {
        W::PINS
    }

    fn metrics(&self) -> &'static [Metric] {
        W::METRICS
    }

    fn params(&self) -> Params {
        Workload::params(self)
    }

    fn check(&self) -> Result<(), Stop> {
        Workload::check(self)
    }

    fn note(&self) -> Option<String> {
        Workload::note(self)
    }

    fn needs(&self, target: &Entry) -> Needs {
        Workload::needs(self, target)
    }

    fn targets(&self) -> Vec<&'static Entry> {
        let targets = W::Family::TARGETS.iter().copied();
        targets.filter(|target| self.is_for(target)).collect()
    }

    fn is_apart(&self, target: &Entry) -> bool {
        W::APART || target.elsewhere.is_some()
    }

    fn run(&self, target: &'static Entry, terms: Terms) -> Outcome {
        if self.is_apart(target) {
            let values = apart::run(W::NAME, &Workload::params(self), target, terms)?;
            return match (values.len(), W::METRICS.len()) {
                (there, needed) if there == needed => Ok(values),
                (there, needed) => {
                    Err(Failure::Told(format!("its process said {there} numbers, not {needed}")))
                }
            };
        }
        self.run_here(target, terms)
    }

    fn run_here(&self, target: &'static Entry, terms: Terms) -> Outcome {
        self.instead(target, terms).unwrap_or_else(|| dispatch::run(self, target, terms))
    }
}

/// What a subcommand reads its options into: the rows that it stands for.
pub(crate) trait Rows {
    /// These rows, all of one family.
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop>;
}

impl<W: Workload> Rows for W
where
    W::Family: Accept<Run<W>>,
{
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop> {
        Ok(vec![Box::new(self.clone())])
    }
}
