//! Bursts with sleep between them, submitted from existing threads, as in a server below full load.

use super::chain::{Chains, producer};
use crate::workloads::prelude::*;

/// Options of `latency`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Latency {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Submitting threads outside.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) producers: u64,
    /// Tasks each of them submits per burst.
    #[arg(long, default_value_t = 100, value_parser = whole::<1, { limits::MAX_MESSAGES }>)]
    pub(crate) messages: u64,
    /// Further tasks after each of these, each spawning the next.
    #[arg(long, default_value_t = 100, value_parser = whole::<0, { limits::MAX_AMPLIFICATION }>)]
    pub(crate) amplification: u64,
    /// Milliseconds of sleep before each burst
    #[arg(
        long, default_value = "10", default_value_if("rate", clap::builder::ArgPredicate::IsPresent, None),
        conflicts_with = "rate", value_parser = whole::<0, { limits::MAX_SLEEP_MS }>
    )]
    pub(crate) sleep_ms: Option<u64>,
    /// Bursts per second at fixed times: each time counts from when the burst was due, even if the former had not ended.
    /// Without it a burst follows the end of the former and a sleep.
    #[arg(long, value_parser = whole::<1, { limits::MAX_RATE }>)]
    pub(crate) rate: Option<u64>,
    /// Bursts in a run, the fewest with `--rse`.
    #[arg(long, default_value_t = 50, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) bursts: u64,
    /// Further bursts until the relative standard error of the mean is this many per cent or less, as executors' own suite does
    /// with 1; up to `--most-bursts` [default: no further ones]
    #[arg(long, value_name = "PERCENT", value_parser = whole::<1, 100>)]
    pub(crate) rse: Option<u64>,
    /// Bursts in a run at most, with `--rse` [default: 10000]
    #[arg(long, requires = "rse", value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) most_bursts: Option<u64>,
}

impl Workload for Latency {
    const DONE: &'static str = "run a burst of jobs after a pause";
    const LIKE: &'static str = "It stands for work that arrives in bursts: a frame of a game, a tick of a market, a batch of a queue.";
    type Family = Pools;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "p50" "p99" "p99.9" "max" "mean" "bound";
        less "%": "rse";
    };

    fn check(&self) -> Result<(), Stop> {
        let messages = [self.producers, self.messages];
        limits::product("messages of a burst", &messages, limits::MAX_MESSAGES)?;
        let tasks = [self.producers, self.messages, 1 + self.amplification, self.most()];
        limits::product("tasks", &tasks, limits::MAX_TASKS)
    }

    fn needs(&self) -> Needs {
        // The waiting thread is the first of the producers.
        Needs { files: 0, threads: self.producers - 1 }
    }

    fn quiet(&self) -> Duration {
        match self.rate {
            Some(rate) => Duration::from_secs(1) / rate as u32,
            None => Duration::from_millis(self.sleep_ms.unwrap_or_default()),
        }
    }
}

impl PoolWorkload for Latency {
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome {
        let shared = Shared::leak(bench, Chains { pre: 0, post: 0, are_awaited: true });
        let ready = Arc::new(Barrier::new(self.producers as usize));
        let chains = [self.messages, self.amplification];
        let over = Arc::new(AtomicBool::new(false));
        for index in 1..self.producers as u32 {
            let producer = producer(pool, bench, shared, index, chains);
            let (ready, over) = (Arc::clone(&ready), Arc::clone(&over));
            on_thread(move || {
                loop {
                    ready.wait();
                    // The barrier orders this after the store.
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    producer();
                }
            });
        }
        let (producer, mut meter) = (producer(pool, bench, shared, 0, chains), Meter::default());
        let mut times = Vec::with_capacity(self.most() as usize);
        let first = shared.epoch.nanos();
        while !self.is_done(&times) {
            bench.tally.expect(Sum::grid(self.producers * self.messages, 1 + self.amplification));
            let due = self.rate.map(|rate| first + (times.len() as u64 + 1) * 1_000_000_000 / rate);
            match due {
                Some(due) => shared.epoch.wait_until(due),
                None => thread::sleep(self.quiet()),
            }
            shared.latch.arm((self.producers * self.messages) as usize);
            let lap = Lap::begin();
            // Not from now on: a burst late because of the former has waited.
            let begun = due.unwrap_or_else(|| shared.epoch.nanos());
            ready.wait();
            producer();
            let ended = shared.latch.wait(bench.tally)?;
            meter.end(&lap);
            times.push(seconds(ended.saturating_sub(begun)));
            // The last link of a chain can be counted before the link that spawned it.
            bench.tally.wait_for(bench.tally.expected().tasks)?;
        }
        over.store(true, Ordering::Relaxed);
        ready.wait();
        let ((mean, _), rse) = (moments(&times), rse(&times));
        let bound = times.iter().map(|time| (time - mean).abs()).fold(0.0, f64::max);
        let times = bench.quantiles(times, [0.5, 0.99, 0.999, 1.0]);
        Ok([&times[..], &[mean, bound, rse, meter.cpus()]].concat())
    }
}

impl Latency {
    /// The most bursts of a run.
    fn most(&self) -> u64 {
        self.rse.map_or(self.bursts, |_| self.bursts.max(self.most_bursts.unwrap_or(10_000)))
    }

    /// Whether these bursts are enough.
    fn is_done(&self, times: &[f64]) -> bool {
        let (count, wanted) =
            (times.len() as u64, self.rse.map_or(f64::INFINITY, |rse| rse as f64));
        count >= self.most() || (count >= self.bursts && rse(times) <= wanted)
    }
}

/// The standard error of the mean in per cent of it. A single burst has none.
fn rse(times: &[f64]) -> f64 {
    let ((mean, deviation), count) = (moments(times), times.len() as f64);
    if times.len() < 2 { f64::NAN } else { 100.0 * deviation / count.sqrt() / mean }
}

#[cfg(test)]
mod tests {
    use super::{Latency, rse};

    #[test]
    fn bursts_go_on_to_a_small_error_or_the_limit() {
        let row = Latency {
            threads: 1,
            producers: 1,
            messages: 1,
            amplification: 0,
            sleep_ms: Some(0),
            rate: None,
            bursts: 3,
            rse: Some(10),
            most_bursts: Some(5),
        };
        // A mean of 2, a deviation of 1, and a root of 3.
        assert!((rse(&[1.0, 2.0, 3.0]) - 50.0 / 3_f64.sqrt()).abs() < 1e-9);
        assert!(!row.is_done(&[1.0, 1.0]), "too few");
        assert!(row.is_done(&[1.0, 1.0, 1.0]));
        assert!(!row.is_done(&[1.0, 2.0, 3.0]), "not certain");
        assert!(row.is_done(&[1.0, 2.0, 3.0, 1.0, 3.0]), "the most there may be");
        let fixed = Latency { rse: None, ..row };
        assert!(fixed.is_done(&[1.0, 2.0, 3.0]) && !fixed.is_done(&[1.0, 2.0]));
        assert!(Latency { bursts: 1, ..fixed }.is_done(&[1.0]));
    }
}
