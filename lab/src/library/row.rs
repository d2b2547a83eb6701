//! A closure of the user's as a row of the laboratory, and a run of it.

use std::fmt;
use std::sync::Arc;

use super::pool::{AnyPool, Closure, Run};
use crate::clock::{Lap, Meter};
use crate::needs::Needs;
use crate::row::Row;
use crate::setup::{end, started, warm};
use crate::supervise::supervise;
use crate::tally::Tally;
use crate::target::pool::{Pool, Start, VisitPool};
use crate::target::{Accept as _, Entry};
use crate::targets::pools::Pools;
use crate::usage::Usage;
use crate::workload::{Meaning, Metric, Outcome, Params, Terms, metrics};

/// For how long a round calls the closure, at least.
const ENOUGH: f64 = 5e-3;

/// The most calls in a round.
const MOST: f64 = 10_000.0;

/// A closure of the user's, as a row.
pub(super) struct Yours {
    /// What it does.
    pub(super) what: &'static str,
    /// The name of the target that all others are compared with.
    pub(super) own: &'static str,
    /// The closure.
    pub(super) run: Arc<Closure>,
    /// Threads of each pool.
    pub(super) threads: usize,
    /// The targets.
    pub(super) targets: Vec<&'static Entry>,
}

impl fmt::Debug for Yours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Row for Yours {
    fn name(&self) -> &'static str {
        self.what
    }

    fn meaning(&self) -> Meaning {
        let like = "A call of the closure ends when all of its jobs have run.";
        Meaning::new("call the closure", like).yours(self.own)
    }

    fn metrics(&self) -> &'static [Metric] {
        const METRICS: &[Metric] = metrics! {
            less "s": "time" "cpu-time";
            less "switches": "switches";
        };
        METRICS
    }

    fn params(&self) -> Params {
        Params::from_iter([("threads".to_owned(), self.threads.into())])
    }

    fn needs(&self, _target: &Entry) -> Needs {
        Needs { files: 0, threads: self.threads as u64 }
    }

    fn targets(&self) -> Vec<&'static Entry> {
        self.targets.clone()
    }

    fn run(&self, target: &'static Entry, terms: Terms) -> Outcome {
        let (run, threads) = (Arc::clone(&self.run), self.threads);
        Pools::accept(target, Visit { run, threads, target, terms })
    }
}

/// A run of a closure.
struct Visit {
    /// The closure.
    run: Arc<Closure>,
    /// Threads of the pool.
    threads: usize,
    /// The target.
    target: &'static Entry,
    /// The terms of the run.
    terms: Terms,
}

impl VisitPool for Visit {
    type Output = Outcome;

    fn threads(&self) -> usize {
        self.threads
    }

    fn visit<T: Pool>(self, start: Start<T>) -> Outcome {
        let tally = Tally::leak();
        supervise(tally, self.terms.patience, move || {
            let pool = started(|| start(self.threads))?;
            if !self.target.is_cold {
                warm(&pool, self.threads, tally)?;
            }
            let run = Run::leak(tally, self.terms.fault);
            let any = AnyPool::new(&pool, run);
            run.call(&*self.run, &any)?;
            let (mut meter, before, lap) = (Meter::default(), Usage::now(), Lap::begin());
            let (mut calls, mut time) = (0.0, 0.0);
            while time < ENOUGH && calls < MOST {
                time += run.call(&*self.run, &any)?;
                calls += 1.0;
            }
            meter.end(&lap);
            let switches = before.since().switches();
            drop(any);
            end(pool);
            tally.check(tally.expected())?;
            tally.retire();
            let cpu = meter.cpu().as_secs_f64();
            Ok(vec![time / calls, cpu / calls, switches / calls, meter.cpus()])
        })
    }
}
