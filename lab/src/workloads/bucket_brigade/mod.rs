//! The bucket brigade of context-switch: tasks in a line pass a byte from each to the next, until it arrives at the end.
//!
//! A measuring task puts a byte into the line and takes it out at the other end; there is one hop more than tasks in the
//! line. Each task reads a byte, counts it, and writes it. The measuring task is a task like the others, so a hop does not
//! include waking the thread that waits for the whole run. With several bytes in flight the next is put in when a byte has
//! arrived, so their number is constant.

#[cfg(target_os = "linux")]
mod epoll;
mod line;

use std::process::{self, Command, Stdio};

use futures_lite::future::block_on;
use tokio::sync::mpsc;

use self::line::{Ends, Relay};
use crate::targets::runtimes::threads::Threads;
use crate::workloads::prelude::*;

/// The links between the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Over {
    /// Pipes of the system.
    Pipe,
    /// TCP connections inside this machine.
    Tcp,
    /// Pairs of Unix sockets.
    Unix,
    /// Channels: tokio's for tasks of all targets, and std's for threads.
    Channel,
}

/// Options of `bucket-brigade`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct BucketBrigade {
    /// The links between the tasks.
    #[arg(long, value_enum, default_value = "pipe")]
    pub(crate) over: Over,
    /// Tasks in the line.
    #[arg(long, default_value_t = 500, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) tasks: u64,
    /// Bytes through the whole line.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) iterations: u64,
    /// Bytes in flight at a time.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_IN_FLIGHT }>)]
    pub(crate) in_flight: u64,
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Bytes through the line before any counted.
    #[arg(long, default_value_t = 2, value_parser = whole::<{ WARM_UP as u64 }, { limits::MAX_SHOTS }>)]
    pub(crate) warmups: u64,
    /// A command for `sh`, run after each run while its tasks still wait; `{pid}` in it stands for their process. It writes to
    /// the laboratory's output.
    #[arg(long)]
    pub(crate) command: Option<String>,
}

/// The fewest bytes through the line before any counted: two, so the run ends when the first has a fault.
const WARM_UP: u32 = 2;

/// Pause between two looks whether a command has ended.
const LOOK: Duration = Duration::from_millis(5);

impl Workload for BucketBrigade {
    const DONE: &'static str = "pass a byte through a line of tasks";
    const LIKE: &'static str = "It stands for chains of actors, proxies and pipelines, in which each step waits for the one before it.";
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
            "go" => self.over == Over::Channel,
            // Written for pipes.
            "epoll" => self.over == Over::Pipe,
            _ => true,
        }
    }

    fn tasks(&self) -> u64 {
        self.tasks
    }

    fn needs(&self) -> Needs {
        let files = if self.over == Over::Channel { 0 } else { 2 * self.hops() };
        Needs { files, threads: 0 }
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.bytes().into(), self.hops())
    }

    fn instead(&self, target: &'static Entry, bench: Bench) -> Option<Outcome> {
        let run = match target.name {
            "floor" => Self::floor,
            #[cfg(target_os = "linux")]
            "epoll" => Self::epoll,
            _ => return None,
        };
        Some(counted(self.clone(), bench, run))
    }
}

impl RuntimeWorkload for BucketBrigade {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        runtime.block_on(self.over_links(Some(runtime), bench))
    }
}

impl BucketBrigade {
    /// Runs without tasks: one thread does their work in turn.
    fn floor(&self, bench: &Bench) -> Outcome {
        block_on(self.over_links::<Threads>(None, bench))
    }

    /// Runs over the links of this runtime, without tasks if it is none.
    async fn over_links<R: Runtime>(&self, runtime: Option<&R>, bench: &Bench) -> Outcome {
        match self.over {
            Over::Pipe => self.along(runtime, bench, line::pipe::<R>).await,
            Over::Tcp => self.along(runtime, bench, line::tcp::<R>).await,
            Over::Unix => self.along(runtime, bench, line::unix::<R>).await,
            Over::Channel => self.along(runtime, bench, || Ok(self.channel())).await,
        }
    }

    /// Runs over a line of these links, with a task for each place in it if there is a runtime.
    async fn along<R: Runtime, U: Upstream, D: Downstream>(
        &self,
        runtime: Option<&R>,
        bench: &Bench,
        link: impl FnMut() -> io::Result<(D, U)>,
    ) -> Outcome {
        let (carriers, ends) = line::line(self.tasks as u32, bench.tally, link)?;
        let Some(runtime) = runtime else {
            let Ends { first, last, trail } = ends;
            return self.alone(bench, Ends { first, last: Relay { carriers, last }, trail }).await;
        };
        let doomed = (bench.fault == Fault::Died).then_some(self.tasks / 2);
        let tasks = carriers.into_iter().zip(0..).map(|(carrier, place)| {
            if doomed == Some(place) {
                return runtime.spawn(carrier.die_after(self.bytes() / 2));
            }
            runtime.spawn(carrier.work())
        });
        let tasks = tasks.collect::<io::Result<Vec<_>>>()?;
        let (values, ends) = runtime.spawn(self.clone().measure(ends, *bench))?.await?;
        // The first end is closed, and so the tasks end in turn.
        ends.close().await;
        for task in tasks {
            task.await;
        }
        Ok(values)
    }

    /// Runs on this thread over a line without tasks.
    async fn alone<U: Upstream, D: Downstream>(&self, bench: &Bench, ends: Ends<U, D>) -> Outcome {
        let (values, ends) = self.clone().measure(ends, *bench).await?;
        ends.close().await;
        Ok(values)
    }

    /// A link between two tasks, with room for the bytes in flight, and for a repeated byte.
    fn channel(&self) -> (mpsc::Sender<u8>, mpsc::Receiver<u8>) {
        mpsc::channel(self.in_flight.max(WARM_UP.into()) as usize + 1)
    }

    /// Passes all bytes through the line with these ends.
    async fn measure<U: Upstream, D: Downstream>(
        self,
        mut ends: Ends<U, D>,
        bench: Bench,
    ) -> Result<(Vec<f64>, Ends<U, D>), Failure> {
        let expected = self.expected().tasks;
        let broken = || Failure::Miscounted { ran: bench.tally.count(), expected };
        let (window, warmups) = (self.in_flight as u32, self.warmups as u32);
        let first = ends.pass(0..WARM_UP, window.max(WARM_UP), bench.fault);
        first.await.ok_or_else(broken)?;
        ends.pass(WARM_UP..warmups, window, Fault::None).await.ok_or_else(broken)?;
        let (mut meter, lap, before) = (Meter::default(), Lap::begin(), Usage::now());
        let times = ends.pass(warmups..self.bytes(), window, Fault::None);
        let times = times.await.ok_or_else(broken)?;
        let wall = meter.end(&lap).as_secs_f64();
        let used = before.since();
        // The first end is still open: all tasks wait.
        self.command(bench.tally);
        let hops = (self.iterations * self.hops()) as f64;
        let (mean, deviation) = moments(&times);
        let mut values = vec![wall / hops];
        values.extend(bench.quantiles(times, [0.5, 0.9, 0.99, 0.999, 1.0]));
        values.extend([meter.cpus() * wall / hops, used.switches() / hops, mean, deviation]);
        values.extend([used.user, used.system, used.faults].map(|used| used / hops));
        values.push(meter.cpus());
        Ok((values, ends))
    }

    /// Runs the command, if any.
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

    /// Bytes of a run.
    fn bytes(&self) -> u32 {
        (self.warmups + self.iterations) as u32
    }

    /// Hops of a byte.
    fn hops(&self) -> u64 {
        self.tasks + 1
    }
}

#[cfg(test)]
mod tests;
