//! The price of creating a nearly empty task, and of waiting for its end.

use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

use crate::setup::all;
use crate::workloads::prelude::*;

/// Whether tasks or threads are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// Futures as tasks.
    Task,
    /// Threads.
    Thread,
}

/// How tasks create tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// The thread outside creates all of them.
    Flat,
    /// Each task creates the next.
    Chain,
    /// As flat, but each task creates another, sends it a message and waits for the answer.
    PingPong,
}

/// Options of `creation`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Creation {
    /// Whether tasks or threads are created.
    #[arg(long, value_enum, default_value = "task")]
    pub(crate) kind: What,
    /// How tasks create tasks: `chain` and `ping-pong` are those of executors' own benchmark.
    #[arg(long, value_enum, default_value = "flat")]
    pub(crate) shape: Shape,
    /// Tasks created before the first of them is joined, or in a chain, or pairs of them.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) tasks: u64,
    /// Measurements in a run, which reports their median.
    #[arg(long, default_value_t = 20, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) repetitions: u64,
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Repetitions before the counted ones; an injected fault is in the first.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) warmups: u64,
}

impl Workload for Creation {
    const DONE: &'static str = "create a task and wait for its end";
    const LIKE: &'static str = "It stands for a task for each request or connection, in servers and in tests with many small futures.";
    type Family = Runtimes;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "time";
        detail "s": "create" "create-sd" "begin" "begin-sd";
    };

    fn is_for(&self, target: &Entry) -> bool {
        match self.kind {
            What::Task if ["cpp", "go"].contains(&target.name) => self.shape == Shape::Flat,
            What::Task => target.name != "threads",
            What::Thread => target.name == "threads",
        }
    }

    fn tasks(&self) -> u64 {
        if self.shape == Shape::PingPong { 2 * self.tasks } else { self.tasks }
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.tasks, self.warmups + self.repetitions)
    }
}

impl RuntimeWorkload for Creation {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        for number in 0..self.warmups {
            self.create(runtime, number as u32, bench)?;
        }
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        let counted = self.warmups..self.warmups + self.repetitions;
        let times = counted.map(|number| self.create(runtime, number as u32, bench));
        let times = times.collect::<Result<Vec<_>, _>>()?;
        meter.end(&lap);
        Ok([&[median(times)], &self.begin(runtime)?[..], &[meter.cpus()]].concat())
    }
}

impl Creation {
    /// Creates all tasks and waits for all of them, in the repetition with this number; returns the seconds for each.
    fn create(&self, runtime: &impl Runtime, number: u32, bench: &Bench) -> Result<f64, Failure> {
        let fault = if number == 0 { bench.fault } else { Fault::None };
        let (count, tally) = (self.tasks as u32, bench.tally);
        // The effect of the first task happens twice if it is repeated.
        let indices = || fault.tasks(0..count);
        let ran = move |index| tally.ran(index, number);
        let begun = Instant::now();
        runtime.block_on(async {
            match self.shape {
                Shape::Flat => {
                    let spawn = |index| runtime.spawn(async move { ran(index) });
                    all(indices().map(spawn)).await
                }
                Shape::Chain => {
                    let (end, mut ends) = mpsc::unbounded_channel::<()>();
                    for index in indices().take_while(|&index| index == 0) {
                        link(runtime.spawner(), index, count, ran, end.clone())?;
                    }
                    drop(end);
                    // It is closed without a message if the chain breaks.
                    let _ = ends.recv().await;
                    Ok(())
                }
                Shape::PingPong => {
                    let ping = |index| {
                        let spawner = runtime.spawner();
                        runtime.spawn(async move {
                            let (ping, pinged) = oneshot::channel();
                            let (pong, ponged) = oneshot::channel();
                            let answer = async move {
                                if pinged.await.is_ok() {
                                    ran(index);
                                    let _ = pong.send(());
                                }
                            };
                            // A task that could not be spawned is missing in the count.
                            if spawner.detach(answer).is_ok() {
                                let _ = ping.send(());
                                let _ = ponged.await;
                            }
                        })
                    };
                    all(indices().map(ping)).await
                }
            }
        })?;
        Ok(begun.elapsed().as_secs_f64() / self.tasks as f64)
    }

    /// As many tasks again, each with the time of the first line: the seconds to create a task, and from the creation to the first line,
    /// the mean and the deviation of each. Not while the rest is timed, as reading the clock takes time.
    fn begin<R: Runtime>(&self, runtime: &R) -> Result<[f64; 4], Failure> {
        if self.shape != Shape::Flat {
            return Ok([f64::NAN; 4]);
        }
        let (mut creations, mut begins) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            let begun = Instant::now();
            let spawn = |_| Ok((Instant::now(), runtime.spawn(async { Instant::now() })?));
            runtime.block_on(async {
                let tasks = (0..self.tasks).map(spawn).collect::<io::Result<Vec<_>>>()?;
                let ended = begun.elapsed();
                // Each ends where the next begins.
                let times =
                    tasks.iter().map(|(created, _)| *created).skip(1).chain([begun + ended]);
                let times = tasks.iter().zip(times);
                creations.extend(times.map(|((created, _), next)| (next - *created).as_secs_f64()));
                for (created, task) in tasks {
                    begins.push((task.await - created).as_secs_f64());
                }
                io::Result::Ok(())
            })?;
        }
        let ((create, create_sd), (begin, begin_sd)) = (moments(&creations), moments(&begins));
        Ok([create, create_sd, begin, begin_sd])
    }
}

/// Spawns the task with this number, which spawns the next; an error if it can't be spawned.
fn link<S: Spawn>(
    spawner: S,
    index: u32,
    count: u32,
    ran: impl Fn(u32) + Copy + Send + 'static,
    end: UnboundedSender<()>,
) -> io::Result<()> {
    let next = spawner.clone();
    spawner.detach(async move {
        ran(index);
        if index + 1 < count {
            // A chain with an early end is missing in the count.
            let _ = link(next, index + 1, count, ran, end);
        } else {
            let _ = end.send(());
        }
    })
}
