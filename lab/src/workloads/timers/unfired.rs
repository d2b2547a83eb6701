//! Timers that never fire, as most timeouts: each is made, waits for a turn of its runtime, and is cancelled.

use std::iter;

use futures_lite::future::{or, yield_now};

use super::By;

use crate::target::runtime::Alarm;
use crate::targets::runtimes::has_tasks;
use crate::workloads::prelude::*;

/// Timers that are cancelled before their time.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "pattern", rename = "unfired")]
pub(crate) struct Unfired {
    /// What waits.
    pub(super) by: By,
    /// How many, rounded down to a multiple of those at a time.
    pub(super) timers: u64,
    /// Threads of the target.
    pub(super) threads: u64,
}

/// Timers at a time.
const LIVE: u64 = 1_000;

/// Their time: longer than any run.
const TIME: Duration = Duration::from_secs(3_600);

/// The count that marks a timer that fired, beside its number. None is expected.
const FIRED: u32 = u32::MAX;

impl Workload for Unfired {
    const NAME: &'static str = "timers";
    const MEANING: Meaning = Meaning::new(
        "cancel timers before their time",
        "It stands for timeouts that are hardly ever reached: one for each request of a server or a client.",
    );
    type Family = Runtimes;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "cpu-timer" "time";
    };

    fn is_for(&self, target: &Entry) -> bool {
        has_tasks(target)
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.live().into(), self.rounds().into())
    }
}

impl RuntimeWorkload for Unfired {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let (mut meter, lap) = (Meter::default(), Lap::begin());
        runtime.block_on(async {
            match self.by {
                By::Future => self.futures(runtime, bench).await,
                By::Closure => self.closures(runtime, bench).await,
            }
        })?;
        let wall = meter.end(&lap).as_secs_f64();
        let timers = self.expected().tasks as f64;
        Ok(vec![meter.cpu().as_secs_f64() / timers, wall / timers, meter.cpus()])
    }
}

impl Unfired {
    /// Timers at a time.
    fn live(&self) -> u32 {
        self.timers.min(LIVE) as u32
    }

    /// Timers of each of these, one after the other.
    fn rounds(&self) -> u32 {
        (self.timers / u64::from(self.live())) as u32
    }

    /// As many tasks as there are timers at a time, each of which gives up one after the other.
    async fn futures<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Result<(), Failure> {
        let (rounds, tally) = (self.rounds(), bench.tally);
        let tasks = (0..self.live()).map(|number| {
            let fault = if number == 0 { bench.fault } else { Fault::None };
            runtime.spawn(async move {
                for round in 0..rounds {
                    for _ in 0..fault.copies(round) {
                        give_up::<R>(tally, number, round).await;
                    }
                }
            })
        });
        for task in tasks.collect::<Result<Vec<_>, _>>().map_err(Failure::Refused)? {
            task.await;
        }
        Ok(())
    }

    /// Makes all timers of a round, lets the runtime see them, and cancels them.
    async fn closures<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Result<(), Failure> {
        let (time, tally) = (Instant::now() + TIME, bench.tally);
        for round in 0..self.rounds() {
            let fault = if round == 0 { bench.fault } else { Fault::None };
            let numbers =
                (0..self.live()).flat_map(|number| iter::repeat_n(number, fault.copies(number)));
            let made = numbers.map(|number| {
                let alarm = runtime.execute_at(time, move || tally.ran(number, FIRED));
                alarm.map(|alarm| (number, alarm))
            });
            let made = made.collect::<Result<Vec<_>, _>>().map_err(Failure::Refused)?;
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

/// Sleeps until the task gets its next turn, and counts the timer.
async fn give_up<R: Runtime>(tally: &'static Tally, number: u32, round: u32) {
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
