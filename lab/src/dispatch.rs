//! Combines a workload and a target by their types, so the compiler can inline both: no task is
//! called through a pointer.

use std::time::Duration;

use crate::census::Census;
use crate::failure::Failure;
use crate::fault::{Fault, SLOW_US};
use crate::setup::{end, occupy, started, warm};
use crate::supervise::supervise;
use crate::target::Entry;
use crate::target::fork::{self, ForkJoin, VisitFork};
use crate::target::pool::{self, Submit, VisitPool};
use crate::target::runtime::{self, Runtime, VisitRuntime};
use crate::work::units_for;
use crate::workload::{Bench, ForkWorkload, Outcome, PoolWorkload, RuntimeWorkload, Workload};

/// A run of a workload.
pub(crate) struct Run<W> {
    /// The workload.
    pub(crate) workload: W,
    /// The target, started for it.
    pub(crate) target: &'static Entry,
    /// The other inputs of the run.
    pub(crate) bench: Bench,
}

/// Runs the workload by `run`, supervised, and checks for lost and repeated tasks.
pub(crate) fn counted<W: Workload>(
    workload: W,
    bench: Bench,
    run: impl FnOnce(&W, &Bench) -> Outcome + Send + 'static,
) -> Outcome {
    bench.tally.expect(workload.expected());
    // While the workload itself pauses, a target without progress does not stand still.
    let patience = bench.patience + workload.quiet();
    checked(bench, patience, Box::new(move || run(&workload, &bench)))
}

/// The part that is the same for all workloads and targets, compiled once.
fn checked(
    Bench { tally, fault, .. }: Bench,
    patience: Duration,
    run: Box<dyn FnOnce() -> Outcome + Send>,
) -> Outcome {
    if fault == Fault::Slow {
        tally.slow_down(units_for(SLOW_US));
    }
    supervise(tally, patience, move || {
        let values = run()?;
        if fault == Fault::Stuck {
            tally.wait_for(u64::MAX)?;
        }
        tally.check(tally.expected())?;
        tally.retire();
        Ok(values)
    })
}

/// Puts this thread, and all threads missing in `others`, on their CPUs.
fn place(bench: &Bench, others: &Census) -> Result<(), Failure> {
    bench.pin.map_or(Ok(()), |pin| pin.place(others)).map_err(Failure::Refused)
}

impl<W: PoolWorkload> VisitPool for Run<W> {
    fn threads(&self) -> usize {
        self.workload.threads()
    }

    fn visit<O: Submit, I: Submit>(self, start: pool::Start<O, I>) -> Outcome {
        counted(self.workload, self.bench, move |workload, bench| {
            let others = Census::take().map_err(Failure::Refused)?;
            let pool = started(start, workload.threads())?;
            if !self.target.is_cold {
                warm(&pool, workload.threads(), bench.tally)?;
            }
            place(bench, &others)?;
            let values = workload.run(&pool, bench)?;
            end(pool);
            Ok(values)
        })
    }
}

impl<W: ForkWorkload> VisitFork for Run<W> {
    fn visit<F: ForkJoin>(self, start: fork::Start<F>) -> Outcome {
        counted(self.workload, self.bench, move |workload, bench| workload.run(start, bench))
    }
}

impl<W: RuntimeWorkload> VisitRuntime for Run<W> {
    fn visit<R: Runtime>(self, start: runtime::Start<R>) -> Outcome {
        counted(self.workload, self.bench, move |workload, bench| {
            let others = Census::take().map_err(Failure::Refused)?;
            let runtime = started(start, workload.threads())?;
            if bench.pin.is_some() {
                occupy(&runtime, workload.threads()).map_err(Failure::Refused)?;
            }
            place(bench, &others)?;
            // It warms up itself.
            let values = workload.run(&runtime, bench)?;
            runtime.shutdown();
            Ok(values)
        })
    }
}
