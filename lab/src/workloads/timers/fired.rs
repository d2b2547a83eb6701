//! Timers that fire, spread over a period or all of them at one instant.

use std::sync::atomic::AtomicUsize;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use tokio::sync::Semaphore;

use super::By;

use crate::target::runtime::{Alarm, Spawn};
use crate::targets::runtimes::has_tasks;
use crate::workloads::prelude::*;

/// When the timers fire.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "pattern", rename_all = "kebab-case")]
pub(crate) enum Times {
    /// Evenly over a period, in an order that has nothing to do with that in which they are made.
    Spread {
        /// Milliseconds of the period.
        millis: u64,
    },
    /// All of them at one instant.
    Instant,
}

/// Timers that fire.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fired {
    /// When.
    #[serde(flatten)]
    pub(super) times: Times,
    /// What waits.
    pub(super) by: By,
    /// How many.
    pub(super) timers: u64,
    /// Threads of the target.
    pub(super) threads: u64,
}

/// Time from the start of a run to the first timer, for each that is made before: it must be enough to make them on any target
/// and beside hogs.
const LEAD: Duration = Duration::from_micros(20);

/// The least of it.
const LEAST_LEAD: Duration = Duration::from_millis(50);

/// The timers of a run as they fire.
pub(super) struct Board {
    /// Counts them.
    tally: &'static Tally,
    /// Nanoseconds by which each was late.
    late: Box<[AtomicU64]>,
    /// Those that have not fired yet.
    left: AtomicUsize,
    /// Whether one fired before its time.
    early: AtomicBool,
    /// Gets a permit when all have fired.
    over: Semaphore,
}

impl Board {
    /// A board for this many timers, with the fault in the first.
    pub(super) fn new(tally: &'static Tally, timers: u64, fault: Fault) -> Self {
        let made = (0..timers as u32).map(|number| fault.copies(number)).sum();
        Board {
            tally,
            late: (0..timers).map(|_| AtomicU64::new(0)).collect(),
            left: AtomicUsize::new(made),
            early: AtomicBool::new(false),
            over: Semaphore::new(usize::from(made == 0)),
        }
    }

    /// Whether one fired before its time.
    pub(super) fn is_early(&self) -> bool {
        self.early.load(Ordering::Relaxed)
    }

    /// Records that the timer with this number fires now.
    pub(super) fn fired(&self, number: u32, due: Instant) {
        match Instant::now().checked_duration_since(due) {
            Some(late) => {
                self.late[number as usize].store(late.as_nanos() as u64, Ordering::Relaxed);
            }
            None => self.early.store(true, Ordering::Relaxed),
        }
        self.tally.ran(number, 0);
        // Ordering: AcqRel chains all timers up to the last one, which publishes them by its permit.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.over.add_permits(1);
        }
    }
}

impl Workload for Fired {
    const NAME: &'static str = "timers";
    const MEANING: Meaning = Meaning::new(
        "fire many timers",
        "It stands for programs full of sleeps and intervals: simulations, schedulers, retries, heartbeats.",
    );
    type Family = Runtimes;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "cpu-timer" "make" "late-p50" "late-p99" "late-p99.9" "late-max";
    };

    fn is_for(&self, target: &Entry) -> bool {
        has_tasks(target)
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.timers, 1)
    }

    fn quiet(&self) -> Duration {
        self.lead() + self.period()
    }
}

impl RuntimeWorkload for Fired {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let board = Arc::new(Board::new(bench.tally, self.timers, bench.fault));
        let offsets = self.offsets();
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        let made = runtime.block_on(async {
            let first = lap.began() + self.lead();
            let made = self.make(runtime, first, &offsets, &board, bench.fault);
            let made = made.map_err(Failure::Refused)?;
            // It is never closed.
            let _ = board.over.acquire().await;
            Ok::<_, Failure>(made)
        })?;
        meter.end(&lap);
        if board.is_early() {
            return Err(Failure::Told("a timer fired before its time".to_owned()));
        }
        let late = board.late.iter().map(|late| seconds(late.load(Ordering::Relaxed)));
        let each = |time: Duration| time.as_secs_f64() / self.timers as f64;
        let mut values = vec![each(meter.cpu()), each(made)];
        values.extend(bench.quantiles(late.collect(), [0.5, 0.99, 0.999, 1.0]));
        values.push(meter.cpus());
        Ok(values)
    }
}

impl Fired {
    /// The time until the first timer.
    fn lead(&self) -> Duration {
        LEAST_LEAD.max(LEAD * self.timers as u32)
    }

    /// The time from the first to the last.
    fn period(&self) -> Duration {
        match self.times {
            Times::Spread { millis } => Duration::from_millis(millis),
            Times::Instant => Duration::ZERO,
        }
    }

    /// The time of each after the first, in the order in which they are made.
    fn offsets(&self) -> Vec<Duration> {
        let at = |number| self.period().mul_f64(f64::from(number) / self.timers as f64);
        let mut offsets: Vec<_> = (0..self.timers as u32).map(at).collect();
        offsets.shuffle(&mut SmallRng::seed_from_u64(0));
        offsets
    }

    /// Makes all timers, and returns how long that took.
    fn make<R: Runtime>(
        &self,
        runtime: &R,
        first: Instant,
        offsets: &[Duration],
        board: &Arc<Board>,
        fault: Fault,
    ) -> io::Result<Duration> {
        let (spawner, begun) = (runtime.spawner(), Instant::now());
        for (number, &offset) in (0..).zip(offsets) {
            for _ in 0..fault.copies(number) {
                let (board, due) = (Arc::clone(board), first + offset);
                match self.by {
                    By::Future => spawner.detach(async move {
                        R::sleep(due.saturating_duration_since(Instant::now())).await;
                        board.fired(number, due);
                    })?,
                    By::Closure => {
                        runtime.execute_at(due, move || board.fired(number, due))?.detach();
                    }
                }
            }
        }
        Ok(begun.elapsed())
    }
}
