//! An idle pool and one task: the time until it runs, and what the submission cost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::clock::{Epoch, Lap, Meter, seconds};
use crate::limits::{self, whole};
use crate::stats::median;
use crate::tally::{Sum, Tally};
use crate::target::pool::{Pool, Submit};
use crate::targets::pools::Pools;
use crate::workload::{Bench, Meaning, Metric, Outcome, PoolWorkload, Workload};

/// Options of `wake`.
#[derive(Args, Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Wake {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Tasks in a run, one after the other.
    #[arg(long, default_value_t = 300, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) shots: u64,
}

/// Sleep before each shot: the pool is asleep for more than a millisecond of it.
const PAUSE: Duration = Duration::from_micros(1_600);
/// Sleep after a submission, so that looking for the task's end doesn't hold a CPU it needs.
const MEANWHILE: Duration = Duration::from_micros(400);

/// The state that the task and the submitting thread share; leaked, since a lost task may run late.
struct Shared {
    /// Counts the tasks.
    tally: &'static Tally,
    /// The origin of `started`.
    epoch: Epoch,
    /// When the latest task started.
    started: AtomicU64,
}

impl Workload for Wake {
    const NAME: &'static str = "wake";
    const MEANING: Meaning = Meaning::new(
        "start one job on an idle pool",
        "It stands for work that comes now and then: a request to a quiet server, a click, a timer.",
    );
    type Family = Pools;

    const PINS: bool = true;

    const METRICS: &'static [Metric] =
        &[Metric::time("start"), Metric::time("submit"), Metric::CPU];

    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn expected(&self) -> Sum {
        Sum::grid(1, 1).times(self.shots)
    }
}

impl PoolWorkload for Wake {
    fn run<T: Pool>(&self, pool: &T, bench: &Bench) -> Outcome {
        let epoch = Epoch::new();
        let shared = Shared { tally: bench.tally, epoch, started: AtomicU64::new(0) };
        let (shared, outside): (&'static Shared, _) = (Box::leak(Box::new(shared)), pool.outside());
        let (mut starts, mut submits) = (Vec::new(), Vec::new());
        let mut meter = Meter::default();
        let lap = Lap::begin();
        for shot in 1..=self.shots {
            thread::sleep(PAUSE);
            let begun = epoch.nanos();
            for _ in 0..bench.fault.copies(shot as u32 - 1) {
                outside.submit(|| {
                    shared.started.store(shared.epoch.nanos(), Ordering::Relaxed);
                    shared.tally.ran(0, 0);
                });
            }
            submits.push(seconds(epoch.nanos() - begun));
            thread::sleep(MEANWHILE);
            // A thread that sees the task counted also sees when it started.
            bench.tally.wait_for(shot)?;
            let started = shared.started.load(Ordering::Relaxed);
            starts.push(seconds(started.saturating_sub(begun)));
        }
        // The pauses are timed too: the CPU time of an idle pool is part of the price of waking it.
        meter.end(&lap);
        Ok(vec![median(starts), median(submits), meter.cpus()])
    }
}
