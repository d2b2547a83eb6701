//! The bucket brigade of context-switch: tasks in a line pass a byte from each to the next, until it arrives at the end.
//!
//! A task that measures puts a byte into the line and takes it out at its other end; there are as many hops as tasks in the
//! line, and one more. Each task reads one byte, counts it, and writes it. The one that measures is a task like those, so
//! that a hop does not include waking the thread that waits for the whole run. With several bytes in flight the next one is
//! put in when one has arrived, so that their number is constant.

#[cfg(target_os = "linux")]
mod epoll;
mod line;

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::process::{self, Command, Stdio};

use futures_lite::future::block_on;
use tokio::sync::mpsc;

use self::line::{Line, Relay, Trail};
use crate::dispatch::counted;
use crate::target::runtime::{Downstream, Upstream};
use crate::targets::runtimes::threads::Threads;
use crate::usage::Usage;
use crate::workloads::prelude::*;

/// The links between the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Over {
    /// Pipes of the system.
    Pipe,
    /// Channels: tokio's for tasks of all targets, and std's for threads.
    Channel,
}

/// Options of `bucket-brigade`.
#[derive(Args, Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct BucketBrigade {
    /// The links between the tasks.
    #[arg(long, value_enum, default_value = "pipe")]
    pub(crate) over: Over,
    /// Tasks in the line.
    #[arg(long, default_value_t = 500, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) tasks: u64,
    /// Bytes that go through all of it.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) iterations: u64,
    /// Bytes that are in flight at a time.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_IN_FLIGHT }>)]
    pub(crate) in_flight: u64,
    /// Threads that run the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Bytes that go through the line before any that counts.
    #[arg(long, default_value_t = 2, value_parser = whole::<{ WARM_UP as u64 }, { limits::MAX_SHOTS }>)]
    pub(crate) warmups: u64,
    /// A command for `sh`, run after each run while its tasks still wait; `{pid}` in it stands for the process that has them. It
    /// writes where the laboratory does.
    #[arg(long)]
    pub(crate) command: Option<String>,
}

/// The targets without tasks, and how the line runs there.
const WITHOUT_TASKS: &[(&str, Bare)] = &[
    ("floor", BucketBrigade::floor),
    #[cfg(target_os = "linux")]
    ("epoll", BucketBrigade::epoll),
];

/// Runs the line on a target without tasks.
type Bare = fn(&BucketBrigade, &Bench) -> Outcome;

/// The fewest bytes that go through the line before any that counts: two, so that the run comes to its end
/// when the first one has a fault.
const WARM_UP: u32 = 2;

/// Pause between two looks whether a command has ended.
const LOOK: Duration = Duration::from_millis(5);

impl Workload for BucketBrigade {
    const NAME: &'static str = "bucket-brigade";
    const MEANING: Meaning = Meaning::new(
        "pass a byte through a line of tasks",
        "It stands for chains of actors, proxies and pipelines, in which each step waits for the one before it.",
    );
    type Family = Runtimes;
    const PINS: bool = true;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "hop" "p50" "p90" "p99" "p99.9" "max" "cpu-hop";
        less "switches": "switches";
        detail "s": "mean" "stddev" "user-hop" "system-hop";
        detail "faults": "faults";
    };

    fn is_for(&self, target: &Entry) -> bool {
        match target.name {
            "cpp" => false,
            "go" => self.over == Over::Channel,
            // A channel is none of the things that epoll waits for.
            "epoll" => self.over == Over::Pipe,
            _ => true,
        }
    }

    fn tasks(&self) -> u64 {
        self.tasks
    }

    fn files(&self) -> u64 {
        match self.over {
            Over::Pipe => 2 * self.hops(),
            Over::Channel => 0,
        }
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.bytes().into(), self.hops())
    }

    fn instead(&self, target: &'static Entry, bench: Bench) -> Option<Outcome> {
        let (_, run) = WITHOUT_TASKS.iter().find(|(name, _)| target.name == *name)?;
        Some(counted(self.clone(), bench, run))
    }
}

impl RuntimeWorkload for BucketBrigade {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let capacity = self.capacity();
        runtime.block_on(async {
            match self.over {
                Over::Pipe => self.with_tasks(runtime, bench, line::pipe::<R>).await,
                Over::Channel => {
                    self.with_tasks(runtime, bench, || Ok(mpsc::channel(capacity))).await
                }
            }
        })
    }
}

impl BucketBrigade {
    /// Runs without tasks: one thread does their work, one after the other.
    fn floor(&self, bench: &Bench) -> Outcome {
        let capacity = self.capacity();
        block_on(async {
            match self.over {
                Over::Pipe => self.alone(bench, line::pipe::<Threads>).await,
                Over::Channel => self.alone(bench, || Ok(mpsc::channel(capacity))).await,
            }
        })
    }

    /// Runs with a task for each place in the line.
    async fn with_tasks<R: Runtime, U: Upstream, D: Downstream>(
        &self,
        runtime: &R,
        bench: &Bench,
        link: impl FnMut() -> io::Result<(D, U)>,
    ) -> Outcome {
        let line = Line::new(self.tasks as u32, bench.tally, link).map_err(Failure::Refused)?;
        let doomed = (bench.fault == Fault::Died).then_some(self.tasks / 2);
        let tasks = line.carriers.into_iter().zip(0..).map(|(carrier, place)| {
            if doomed == Some(place) {
                return runtime.spawn(carrier.die_after(self.bytes() / 2));
            }
            runtime.spawn(carrier.work())
        });
        let tasks = tasks.collect::<io::Result<Vec<_>>>().map_err(Failure::Refused)?;
        let passing = Passing::new(line.last, line.trail);
        let measured = self.clone().measure(line.first, passing, *bench);
        let measured = runtime.spawn(measured).map_err(Failure::Refused)?.await;
        let Some((values, mut passing)) = measured else { return Err(self.broken(bench)) };
        // The first end is closed, so the tasks end one after the other.
        for task in tasks {
            task.await;
        }
        passing.rest().await;
        Ok(values)
    }

    /// Runs without tasks in the line.
    async fn alone<U: Upstream, D: Downstream>(
        &self,
        bench: &Bench,
        link: impl FnMut() -> io::Result<(D, U)>,
    ) -> Outcome {
        let line = Line::new(self.tasks as u32, bench.tally, link).map_err(Failure::Refused)?;
        let all = Relay { carriers: line.carriers, last: line.last };
        self.without_tasks(bench, line.first, all, line.trail).await
    }

    /// Runs on this thread, by taking bytes out of the last end of a line that needs no task for that.
    async fn without_tasks<U: Upstream, D: Downstream>(
        &self,
        bench: &Bench,
        first: D,
        last: U,
        trail: Trail,
    ) -> Outcome {
        let passing = Passing::new(last, trail);
        let measured = self.clone().measure(first, passing, *bench).await;
        let Some((values, mut passing)) = measured else { return Err(self.broken(bench)) };
        passing.rest().await;
        Ok(values)
    }

    /// Passes all bytes through the line with these ends; `None` if it broke.
    async fn measure<U: Upstream, D: Downstream>(
        self,
        mut first: D,
        mut passing: Passing<U>,
        bench: Bench,
    ) -> Option<(Vec<f64>, Passing<U>)> {
        let (window, warmups) = (self.in_flight as u32, self.warmups as u32);
        passing.pass(0..WARM_UP, window.max(WARM_UP), bench.fault, &mut first).await?;
        passing.pass(WARM_UP..warmups, window, Fault::None, &mut first).await?;
        passing.times = Vec::with_capacity(self.iterations as usize);
        let (mut meter, lap, before) = (Meter::default(), Lap::begin(), Usage::now());
        passing.pass(warmups..self.bytes(), window, Fault::None, &mut first).await?;
        let wall = meter.end(&lap).as_secs_f64();
        let used = before.since();
        // The first end is still open: all tasks wait.
        self.command(bench.tally);
        let hops = (self.iterations * self.hops()) as f64;
        let times = mem::take(&mut passing.times);
        let (mean, deviation) = moments(&times);
        let mut values = vec![wall / hops];
        values.extend(bench.quantiles(times, [0.5, 0.9, 0.99, 0.999, 1.0]));
        values.extend([meter.cpus() * wall / hops, used.switches() / hops, mean, deviation]);
        values.extend([used.user, used.system, used.faults].map(|used| used / hops));
        values.push(meter.cpus());
        Some((values, passing))
    }

    /// Runs the command, if there is one.
    fn command(&self, tally: &Tally) {
        let Some(line) = &self.command else { return };
        let line = line.replace("{pid}", &process::id().to_string());
        let child = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).spawn();
        let Ok(mut child) = child else { return };
        while let Ok(None) = child.try_wait() {
            // It may take as long as it needs.
            tally.step();
            thread::sleep(LOOK);
        }
    }

    /// Reports that the line broke.
    fn broken(&self, bench: &Bench) -> Failure {
        Failure::Miscounted { ran: bench.tally.count(), expected: self.expected().tasks }
    }

    /// Bytes of a run.
    fn bytes(&self) -> u32 {
        (self.warmups + self.iterations) as u32
    }

    /// Hops of a byte.
    fn hops(&self) -> u64 {
        self.tasks + 1
    }

    /// The capacity of a channel: the bytes in flight, and one that is repeated.
    fn capacity(&self) -> usize {
        self.in_flight.max(WARM_UP.into()) as usize + 1
    }
}

/// Bytes in flight, seen from the end of the line.
struct Passing<U> {
    /// The last end.
    last: U,
    /// The bytes that have come out of it.
    trail: Trail,
    /// Seconds that each of them took.
    times: Vec<f64>,
}

impl<U: Upstream> Passing<U> {
    /// Nothing has come out of this end.
    fn new(last: U, trail: Trail) -> Self {
        Passing { last, trail, times: Vec::new() }
    }

    /// Puts bytes with these numbers into the first end, `window` at a time, and takes them out of the
    /// last one. None if the line broke.
    async fn pass<D: Downstream>(
        &mut self,
        bytes: Range<u32>,
        window: u32,
        fault: Fault,
        first: &mut D,
    ) -> Option<()> {
        let (mut sent, mut begun) = (bytes.start, VecDeque::with_capacity(window as usize));
        while self.trail.arrived() < bytes.end {
            while sent < bytes.end.min(self.trail.arrived() + window) {
                begun.push_back(Instant::now());
                for _ in 0..fault.copies(sent) {
                    first.pass(sent as u8).await.then_some(())?;
                }
                sent += 1;
            }
            self.trail.note(self.last.take().await?);
            // They arrive in the order in which they left.
            self.times.extend(begun.pop_front().map(|begun| begun.elapsed().as_secs_f64()));
        }
        Some(())
    }

    /// Counts the bytes after the last one: none, unless one was repeated.
    async fn rest(&mut self) {
        while let Some(byte) = self.last.take().await {
            self.trail.note(byte);
        }
    }
}

#[cfg(test)]
mod tests;
