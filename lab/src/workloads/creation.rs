//! The price of creating a task that does next to nothing, and of waiting for its end.

use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::clock::{Lap, Meter};
use crate::failure::Failure;
use crate::fault::Fault;
use crate::limits::{self, whole};
use crate::stats::median;
use crate::tally::{Sum, Tally};
use crate::target::Entry;
use crate::target::runtime::Runtime;
use crate::targets::runtimes::{Runtimes, has_tasks, threads};
use crate::workload::{Bench, Metric, Outcome, Params, RuntimeWorkload, Workload};

/// Whether tasks or threads are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Tasks that are futures.
    Task,
    /// Threads.
    Thread,
}

/// Options of `creation`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Creation {
    /// Whether tasks or threads are created.
    #[arg(long, value_enum, default_value = "task")]
    pub(crate) kind: What,
    /// Tasks that are created before the first of them is joined.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) tasks: u64,
    /// Measurements in a run, which reports their median.
    #[arg(long, default_value_t = 20, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) repetitions: u64,
    /// Threads that run the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
}

/// Repetitions before those that count; an injected fault is in the first.
const WARM_UP: u64 = 2;

impl Workload for Creation {
    const NAME: &'static str = "creation";
    type Family = Runtimes;

    const METRICS: &'static [Metric] = &[Metric::time("time"), Metric::CPU];

    fn params(&self) -> Params {
        let kind = match self.kind {
            What::Task => "task",
            What::Thread => "thread",
        };
        vec![
            ("kind", kind.into()),
            ("tasks", self.tasks.into()),
            ("repetitions", self.repetitions.into()),
            ("threads", self.threads.into()),
        ]
    }

    fn is_for(&self, target: &Entry) -> bool {
        match self.kind {
            What::Task => has_tasks(target),
            What::Thread => target.is(&threads::EACH.entry),
        }
    }

    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn tasks(&self) -> u64 {
        self.tasks
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.tasks, WARM_UP + self.repetitions)
    }
}

impl RuntimeWorkload for Creation {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        for repetition in 0..WARM_UP {
            let fault = if repetition == 0 { bench.fault } else { Fault::None };
            self.create(runtime, repetition as u32, fault, bench.tally)?;
        }
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        let repetitions = WARM_UP..WARM_UP + self.repetitions;
        let times = repetitions
            .map(|repetition| self.create(runtime, repetition as u32, Fault::None, bench.tally));
        let times = times.collect::<Result<Vec<_>, _>>()?;
        meter.end(&lap);
        Ok(vec![median(times), meter.cpus()])
    }
}

impl Creation {
    /// Creates all tasks and waits for all of them; returns the seconds for each.
    fn create<R: Runtime>(
        &self,
        runtime: &R,
        repetition: u32,
        fault: Fault,
        tally: &'static Tally,
    ) -> Result<f64, Failure> {
        let mut tasks = Vec::with_capacity(self.tasks as usize + 1);
        runtime.block_on(async {
            let begun = Instant::now();
            for index in 0..self.tasks as u32 {
                for _ in 0..fault.copies(index) {
                    let task = runtime.spawn(async move { tally.ran(index, repetition) });
                    tasks.push(task.map_err(Failure::Refused)?);
                }
            }
            for task in tasks {
                task.await;
            }
            Ok(begun.elapsed().as_secs_f64() / self.tasks as f64)
        })
    }
}
