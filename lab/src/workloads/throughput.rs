//! The harness of the crate executors, but every task is counted and the clock stops when all have
//! run.

use super::chain::{Chains, producer};
use crate::workloads::prelude::*;

/// Options of `throughput`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Throughput {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Submitting threads outside.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) producers: u64,
    /// Tasks each of them submits.
    #[arg(long, default_value_t = 100_000, value_parser = whole::<1, { limits::MAX_MESSAGES }>)]
    pub(crate) messages: u64,
    /// Further tasks after each of these, each spawning the next.
    #[arg(long, default_value_t = 1, value_parser = whole::<0, { limits::MAX_AMPLIFICATION }>)]
    pub(crate) amplification: u64,
    /// Units of arithmetic each task does before it spawns the next, a nanosecond or two each.
    #[arg(long, default_value_t = 0, value_parser = whole::<0, { limits::MAX_UNITS }>)]
    pub(crate) pre: u64,
    /// Units of arithmetic each task does afterwards.
    #[arg(long, default_value_t = 0, value_parser = whole::<0, { limits::MAX_UNITS }>)]
    pub(crate) post: u64,
}

impl Workload for Throughput {
    const DONE: &'static str = "keep all threads busy with short jobs";
    const LIKE: &'static str = "It stands for a pool that always has work: log shippers, crawlers, the stages of a pipeline.";
    type Family = Pools;
    const METRICS: &'static [Metric] = metrics! {
        more "tasks/s": "rate";
    };

    fn check(&self) -> Result<(), Stop> {
        limits::product("messages", &[self.producers, self.messages], limits::MAX_MESSAGES)?;
        let tasks = [self.producers, self.messages, 1 + self.amplification];
        limits::product("tasks", &tasks, limits::MAX_TASKS)
    }

    fn needs(&self) -> Needs {
        Needs { files: 0, threads: self.producers }
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.producers * self.messages, 1 + self.amplification)
    }
}

impl PoolWorkload for Throughput {
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome {
        let chains = Chains { pre: self.pre, post: self.post, are_awaited: false };
        let shared = Shared::leak(bench, chains);
        let ready = Arc::new(Barrier::new(self.producers as usize + 1));
        let producers = (0..self.producers as u32).map(|index| {
            let chains = [self.messages, self.amplification];
            let producer = producer(pool, bench, shared, index, chains);
            let ready = Arc::clone(&ready);
            on_thread(move || {
                ready.wait();
                let begun = Instant::now();
                producer();
                begun
            })
        });
        let producers: Vec<_> = producers.collect();
        let mut meter = Meter::default();
        let lap = Lap::begin();
        ready.wait();
        bench.tally.wait_for(self.expected().tasks)?;
        let ended = Instant::now();
        meter.end(&lap);
        // A producer may have begun before this thread was back from the barrier.
        let begun = producers.into_iter().map(joined).min().unwrap_or(lap.began);
        let rate = self.expected().tasks as f64 / (ended - begun).as_secs_f64();
        Ok(vec![rate, meter.cpus()])
    }
}
