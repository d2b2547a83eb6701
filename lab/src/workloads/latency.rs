//! Bursts with sleep between them, submitted from threads that exist already, as in a server that
//! is not fully loaded.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::chain::{Link, Shared};
use crate::clock::{Epoch, Lap, Meter, seconds};
use crate::latch::Latch;
use crate::limits::{self, whole};
use crate::stats::{quantile, sorted};
use crate::stop::Stop;
use crate::tally::Sum;
use crate::target::pool::{Pool, Submit};
use crate::targets::pools::Pools;
use crate::workload::{Bench, Metric, Outcome, Params, PoolWorkload, Workload};

/// Options of `latency`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Latency {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Threads that submit from outside.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) producers: u64,
    /// Tasks each of them submits per burst.
    #[arg(long, default_value_t = 100, value_parser = whole::<1, { limits::MAX_MESSAGES }>)]
    pub(crate) messages: u64,
    /// Further tasks that follow each of those, one spawning the next.
    #[arg(long, default_value_t = 100, value_parser = whole::<0, { limits::MAX_AMPLIFICATION }>)]
    pub(crate) amplification: u64,
    /// Milliseconds of sleep before each burst.
    #[arg(long, default_value_t = 10, value_parser = whole::<0, { limits::MAX_SLEEP_MS }>)]
    pub(crate) sleep_ms: u64,
    /// Bursts in a run.
    #[arg(long, default_value_t = 50, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) bursts: u64,
}

impl Workload for Latency {
    const NAME: &'static str = "latency";
    type Family = Pools;
    const METRICS: &'static [Metric] =
        &[Metric::time("p50"), Metric::time("p99"), Metric::time("mean"), Metric::CPU];

    fn params(&self) -> Params {
        vec![
            ("threads", self.threads.into()),
            ("producers", self.producers.into()),
            ("messages", self.messages.into()),
            ("amplification", self.amplification.into()),
            ("sleep-ms", self.sleep_ms.into()),
            ("bursts", self.bursts.into()),
        ]
    }

    fn check(&self) -> Result<(), Stop> {
        let messages = [self.producers, self.messages];
        let messages = limits::product("messages of a burst", &messages, limits::MAX_MESSAGES)?;
        let tasks = [messages, 1 + self.amplification, self.bursts];
        limits::product("tasks", &tasks, limits::MAX_TASKS)?;
        Ok(())
    }

    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn further_threads(&self) -> usize {
        // The thread that waits for the burst is the first of the producers.
        self.producers as usize - 1
    }

    fn quiet(&self) -> Duration {
        Duration::from_millis(self.sleep_ms)
    }

    fn expected(&self) -> Sum {
        self.burst().times(self.bursts)
    }
}

impl PoolWorkload for Latency {
    fn run<T: Pool>(&self, pool: &T, bench: &Bench) -> Outcome {
        let epoch = Epoch::new();
        let shared = Shared::leak(bench, 0, 0, Some(Latch::new(epoch)));
        let ready = Arc::new(Barrier::new(self.producers as usize));
        for index in 1..self.producers as u32 {
            let producer = self.producer(pool, bench, shared, index);
            let (ready, bursts) = (Arc::clone(&ready), self.bursts);
            thread::spawn(move || {
                for _ in 0..bursts {
                    ready.wait();
                    producer();
                }
            });
        }
        let (producer, mut meter) = (self.producer(pool, bench, shared, 0), Meter::default());
        let mut times = Vec::with_capacity(self.bursts as usize);
        for burst in 1..=self.bursts {
            thread::sleep(Duration::from_millis(self.sleep_ms));
            let latch = shared.latch().expect("made above");
            latch.arm((self.producers * self.messages) as usize);
            let lap = Lap::begin();
            let begun = epoch.nanos();
            ready.wait();
            producer();
            let ended = latch.wait(bench.tally)?;
            meter.end(&lap);
            times.push(seconds(ended.saturating_sub(begun)));
            // The last link of a chain can be counted before the one that spawned it.
            bench.tally.wait_for(burst * self.burst().tasks)?;
        }
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let times = sorted(times);
        Ok(vec![quantile(&times, 0.5), quantile(&times, 0.99), mean, meter.cpus()])
    }
}

impl Latency {
    /// The tasks of one burst.
    fn burst(&self) -> Sum {
        Sum::grid(self.producers * self.messages, 1 + self.amplification)
    }

    /// Submits the tasks of the producer `index` in a burst.
    fn producer<T: Pool>(
        &self,
        pool: &T,
        bench: &Bench,
        shared: &'static Shared,
        index: u32,
    ) -> impl Fn() + Send + use<T> {
        let (outside, inside, fault) = (pool.outside(), pool.inside(), bench.fault);
        let (messages, left) = (self.messages as u32, self.amplification as u32);
        move || {
            for message in index * messages..(index + 1) * messages {
                for _ in 0..fault.copies(message) {
                    let link = Link { inside: inside.clone(), message, left, shared };
                    outside.submit(move || link.run());
                }
            }
        }
    }
}
