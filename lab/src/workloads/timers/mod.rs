//! Timers: for fired timers the CPU time and the lateness count; others are cancelled before, as most timeouts: each is made, waits for
//! a turn of the runtime, and is cancelled.
//!
//! A timer is a sleeping task, or a closure with a time. brigade has special timers for closures; the other runtimes have a
//! task that sleeps and calls the closure, as their users would write.

use futures_lite::future::{or, yield_now};
use rand::seq::SliceRandom;
use tokio::sync::Semaphore;

use crate::setup::all;
use crate::target::runtime::Alarm;
use crate::workloads::prelude::*;

/// The waiting side of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    /// Sleeping tasks.
    Future,
    /// Closures.
    Closure,
}

/// When timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// Spread over a period, in an order unrelated to the order of their creation.
    Spread,
    /// All of them at the same instant.
    Instant,
    /// Never: each is cancelled before its time.
    Unfired,
}

/// Options of `timers`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Timers {
    /// When they fire.
    #[arg(long, value_enum, default_value = "spread")]
    pattern: Pattern,
    /// Milliseconds over which those of `spread` are spread [default: 1000]
    #[arg(long, default_value_if("pattern", "spread", "1000"), value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    millis: Option<u64>,
    /// The waiting side of a timer.
    #[arg(long, value_enum, default_value = "future")]
    by: By,
    /// Timers of a run [default: 10000, and 300000 that never fire]
    #[arg(
        long, default_value_t = 10_000, default_value_if("pattern", "unfired", "300000"), hide_default_value = true,
        value_parser = whole::<1, { limits::MAX_CHILDREN }>
    )]
    timers: u64,
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
}

/// Unfired timers at a time.
const LIVE: u64 = 1_000;

/// Their time: longer than any run.
const TIME: Duration = Duration::from_secs(3_600);

/// The count that marks an unexpectedly fired timer, beside the number.
const FIRED: u32 = u32::MAX;

/// Time from the start of a run to the first timer, for each timer made before: it must be enough to make them on any target
/// and beside hogs.
const LEAD: Duration = Duration::from_micros(20);

/// The least of it.
const LEAST_LEAD: Duration = Duration::from_millis(50);

/// The lateness of an early timer.
const EARLY: u64 = u64::MAX;

/// The timers of a run as they fire.
struct Board {
    /// Counts them.
    tally: &'static Tally,
    /// Nanoseconds by which each was late, or [`EARLY`].
    late: Box<[AtomicU64]>,
    /// Timers that have not fired yet.
    left: AtomicUsize,
    /// Gets a permit when all have fired.
    over: Semaphore,
}

impl Board {
    /// A board for this many timers, with the fault in the first.
    fn new(tally: &'static Tally, timers: u64, fault: Fault) -> Self {
        let made = (0..timers as u32).map(|number| fault.copies(number)).sum();
        Board {
            tally,
            late: (0..timers).map(|_| AtomicU64::new(0)).collect(),
            left: AtomicUsize::new(made),
            over: Semaphore::new(usize::from(made == 0)),
        }
    }

    /// Whether a timer fired early.
    fn is_early(&self) -> bool {
        self.late.iter().any(|late| late.load(Ordering::Relaxed) == EARLY)
    }

    /// Records the firing of the timer with this number.
    fn fired(&self, number: u32, due: Instant) {
        let late = Instant::now().checked_duration_since(due);
        let late = late.map_or(EARLY, |late| late.as_nanos() as u64);
        self.late[number as usize].store(late, Ordering::Relaxed);
        self.tally.ran(number, 0);
        // Ordering: AcqRel chains all timers up to the last, which publishes them by a permit.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.over.add_permits(1);
        }
    }
}

impl Workload for Timers {
    const DONE: &'static str = "fire many timers";
    const LIKE: &'static str = "It stands for programs full of sleeps and intervals: simulations, schedulers, retries, heartbeats.";
    type Family = Runtimes;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "cpu-timer" "make" "late-p50" "late-p99" "late-p99.9" "late-max";
    };

    fn meaning(&self) -> [&'static str; 2] {
        if self.fires() {
            return [Self::DONE, Self::LIKE];
        }
        [
            "cancel timers before their time",
            "It stands for timeouts that are hardly ever reached: one for each request of a server or a client.",
        ]
    }

    fn metrics(&self) -> &'static [Metric] {
        const UNFIRED: &[Metric] = metrics! {
            less "s": "cpu-timer" "time";
        };
        if self.fires() { Self::METRICS } else { UNFIRED }
    }

    fn check(&self) -> Result<(), Stop> {
        let is_ignored = self.millis.is_some() && self.pattern != Pattern::Spread;
        Stop::usage_if(is_ignored, "--millis is for the pattern spread only")
    }

    fn expected(&self) -> Sum {
        if self.fires() {
            return Sum::grid(self.timers, 1);
        }
        Sum::grid(self.live().into(), self.rounds().into())
    }

    fn quiet(&self) -> Duration {
        if self.fires() { self.lead() + self.period() } else { Duration::ZERO }
    }
}

impl RuntimeWorkload for Timers {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        if self.fires() { self.fire(runtime, bench) } else { self.cancel(runtime, bench) }
    }
}

impl Timers {
    /// Whether they do.
    fn fires(&self) -> bool {
        self.pattern != Pattern::Unfired
    }

    /// Lets all of them fire.
    fn fire<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let board = Arc::new(Board::new(bench.tally, self.timers, bench.fault));
        let offsets = self.offsets();
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        let made = runtime.block_on(async {
            let first = lap.began + self.lead();
            let made = self.make(runtime, first, &offsets, &board, bench.fault)?;
            // It is never closed.
            let _ = board.over.acquire().await;
            io::Result::Ok(made)
        })?;
        meter.end(&lap);
        if board.is_early() {
            return Err(Failure::Told("a timer fired before its time".to_owned()));
        }
        let late = board.late.iter().map(|late| seconds(late.load(Ordering::Relaxed)));
        let each = |time: Duration| time.as_secs_f64() / self.timers as f64;
        let late = bench.quantiles(late.collect(), [0.5, 0.99, 0.999, 1.0]);
        Ok([&[each(meter.cpu), each(made)], &late[..], &[meter.cpus()]].concat())
    }

    /// The time until the first timer.
    fn lead(&self) -> Duration {
        LEAST_LEAD.max(LEAD * self.timers as u32)
    }

    /// The time from the first to the last.
    fn period(&self) -> Duration {
        self.millis.map_or(Duration::ZERO, Duration::from_millis)
    }

    /// The time of each after the first, in the order in which they are made.
    fn offsets(&self) -> Vec<Duration> {
        let at = |number| self.period().mul_f64(f64::from(number) / self.timers as f64);
        let mut offsets: Vec<_> = (0..self.timers as u32).map(at).collect();
        offsets.shuffle(&mut SmallRng::seed_from_u64(0));
        offsets
    }

    /// Makes all timers, and returns how long it took.
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

    /// Cancels all of them.
    fn cancel<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        runtime.block_on(async {
            match self.by {
                By::Future => self.futures(runtime, bench).await,
                By::Closure => self.closures(runtime, bench).await,
            }
        })?;
        let wall = meter.end(&lap).as_secs_f64();
        let timers = self.expected().tasks as f64;
        Ok(vec![meter.cpu.as_secs_f64() / timers, wall / timers, meter.cpus()])
    }

    /// Timers at a time.
    fn live(&self) -> u32 {
        self.timers.min(LIVE) as u32
    }

    /// Timers of each of these, in turn: their number is rounded down to a multiple of the number at a time.
    fn rounds(&self) -> u32 {
        (self.timers / u64::from(self.live())) as u32
    }

    /// As many tasks as there are timers at a time; each sleeps in turn until its next turn, and counts the timer.
    async fn futures<R: Runtime>(&self, runtime: &R, bench: &Bench) -> io::Result<()> {
        let (rounds, tally) = (self.rounds(), bench.tally);
        let tasks = (0..self.live()).map(|number| {
            let fault = if number == 0 { bench.fault } else { Fault::None };
            runtime.spawn(async move {
                for round in 0..rounds {
                    for _ in 0..fault.copies(round) {
                        let slept = async {
                            R::sleep(TIME).await;
                            FIRED
                        };
                        let turned = async {
                            yield_now().await;
                            round
                        };
                        tally.ran(number, or(slept, turned).await);
                    }
                }
            })
        });
        all(tasks).await
    }

    /// Makes all timers of a round, lets the runtime see them, and cancels them.
    async fn closures<R: Runtime>(&self, runtime: &R, bench: &Bench) -> io::Result<()> {
        let (time, tally) = (Instant::now() + TIME, bench.tally);
        for round in 0..self.rounds() {
            let fault = if round == 0 { bench.fault } else { Fault::None };
            let made = fault.tasks(0..self.live()).map(|number| {
                let alarm = runtime.execute_at(time, move || tally.ran(number, FIRED));
                alarm.map(|alarm| (number, alarm))
            });
            let made = made.collect::<io::Result<Vec<_>>>()?;
            yield_now().await;
            for (number, alarm) in made {
                alarm.cancel();
                tally.ran(number, round);
            }
            yield_now().await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
