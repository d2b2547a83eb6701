//! An idle pool and one task: the time until it runs, and the cost of the submission.

use crate::workloads::prelude::*;
use std::hint;

/// Options of `wake`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Wake {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Tasks in a run, in turn.
    #[arg(long, default_value_t = 300, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) shots: u64,
    /// Tasks per second at fixed times: each time counts from when the task was due, and no task waits for the former.
    /// Without it a task is submitted when the former has ended and the pool is asleep.
    #[arg(long, value_parser = whole::<1, { limits::MAX_RATE }>)]
    pub(crate) rate: Option<u64>,
    /// The action of the submitting thread until the task has started.
    #[arg(long, default_value = "sleep", conflicts_with = "rate")]
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) then: Then,
    /// Microseconds of work in each task.
    #[arg(long, default_value_t = 0, value_parser = whole::<0, { limits::MAX_WORK_US }>)]
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) work_us: u64,
}

/// The action of the submitting thread until the task has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Then {
    /// It sleeps, and leaves the CPU to a woken thread there.
    #[default]
    Sleep,
    /// It computes.
    Compute,
}

/// Whether a row is named without this option: results of the time before there was such an option have the same name.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Sleep before each shot: the pool is asleep for more than a millisecond of it.
const PAUSE: Duration = Duration::from_micros(1_600);
/// Sleep after a submission, so looking for the task's end doesn't hold a CPU it needs.
const MEANWHILE: Duration = Duration::from_micros(400);

/// The tasks of all shots.
struct Tasks {
    /// When each task started.
    started: Vec<AtomicU64>,
    /// The work of each task, in units of [`grind`].
    units: u64,
}

impl Shared<Tasks> {
    /// The task of this shot.
    fn run(&'static self, shot: usize) {
        self.own.started[shot].store(self.epoch.nanos(), Ordering::Relaxed);
        grind(self.own.units);
        self.tally.ran(0, 0);
    }

    /// Computes until the task of this shot has started.
    fn compute_until_start(&self, shot: usize) -> Result<(), Failure> {
        while self.own.started[shot].load(Ordering::Relaxed) == 0 {
            (0..100).for_each(|_| hint::spin_loop());
            self.tally.go_on()?;
        }
        Ok(())
    }
}

impl Workload for Wake {
    const DONE: &'static str = "start one job on an idle pool";
    const LIKE: &'static str = "It stands for work that comes now and then: a request to a quiet server, a click, a timer.";
    type Family = Pools;

    const PINS: bool = true;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "start" "start-p99" "start-p99.9" "start-max" "submit";
    };

    fn expected(&self) -> Sum {
        Sum::grid(1, 1).times(self.shots)
    }
}

impl PoolWorkload for Wake {
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome {
        let started = (0..self.shots).map(|_| AtomicU64::new(0)).collect();
        let shared = Shared::leak(bench, Tasks { started, units: units_for(self.work_us) });
        let (outside, epoch) = (pool.outside.clone(), shared.epoch);
        let (mut began, mut submits) = (Vec::new(), Vec::new());
        let mut meter = Meter::default();
        let lap = Lap::begin();
        let first = epoch.nanos() + PAUSE.as_nanos() as u64;
        for shot in 0..self.shots {
            let due = self.rate.map(|rate| first + shot * 1_000_000_000 / rate);
            match due {
                None => thread::sleep(PAUSE),
                Some(due) => epoch.wait_until(due),
            }
            let begun = epoch.nanos();
            for _ in 0..bench.fault.copies(shot as u32) {
                outside.submit(move || shared.run(shot as usize));
            }
            submits.push(seconds(epoch.nanos() - begun));
            began.push(due.unwrap_or(begun));
            if due.is_none() {
                match self.then {
                    Then::Sleep => thread::sleep(MEANWHILE),
                    Then::Compute => shared.compute_until_start(shot as usize)?,
                }
                bench.tally.wait_for(shot + 1)?;
            }
            bench.tally.go_on()?;
        }
        // A thread that sees a task counted also sees the start time.
        bench.tally.wait_for(self.shots)?;
        let started = shared.own.started.iter().map(|started| started.load(Ordering::Relaxed));
        let times =
            started.zip(began).map(|(started, began)| seconds(started.saturating_sub(began)));
        // The first is the median.
        let times = bench.quantiles(times.collect(), [0.5, 0.99, 0.999, 1.0]);
        // The pauses are timed too: the CPU time of an idle pool is part of the price of waking it.
        meter.end(&lap);
        Ok([&times[..], &[median(submits), meter.cpus()]].concat())
    }
}
