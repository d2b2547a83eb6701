//! Bursts of blocking jobs on a pool, small between them: how many run at once, how soon,
//! and whether the threads end again.

use crate::census::Census;
use crate::setup::{end, started, warm};
use crate::stats::{quantile, sorted};
use crate::target::pool::{Size, StartSized, VisitElastic};
use crate::targets::pools::ElasticPools;
use crate::workloads::prelude::*;

/// Options of `elastic`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Elastic {
    /// Threads kept by the pool.
    #[arg(long, default_value_t = 1, value_parser = whole::<0, { limits::MAX_THREADS }>)]
    pub(crate) core: u64,
    /// The most threads of the pool.
    #[arg(long, default_value_t = 16, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) max: u64,
    /// Milliseconds for which the other threads stay when idle.
    #[arg(long, default_value_t = 50, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    pub(crate) keep_alive_ms: u64,
    /// Jobs in a burst.
    #[arg(long, default_value_t = 16, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) jobs: u64,
    /// Milliseconds for which each of them blocks.
    #[arg(long, default_value_t = 20, value_parser = whole::<1, { limits::MAX_BLOCK_MS }>)]
    pub(crate) block_ms: u64,
    /// Bursts in a run, in turn.
    #[arg(long, default_value_t = 10, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) bursts: u64,
}

/// Time for threads to end when their keep-alive is over, many of them on few CPUs.
const GRACE: Duration = Duration::from_millis(20);

/// Blocking jobs.
#[derive(Default)]
struct Blocking {
    /// Running jobs.
    running: AtomicUsize,
    /// Jobs at once when the pool is as large as this burst makes it.
    full: usize,
    /// The most jobs at once in this burst.
    most: AtomicUsize,
    /// When `full` jobs ran for the first time in this burst; 0 before.
    grown: AtomicU64,
    /// How long a job blocks.
    block: Duration,
}

impl Shared<Blocking> {
    /// A job.
    fn job(&self, index: u32) {
        let running = self.own.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.own.most.fetch_max(running, Ordering::Relaxed);
        if running == self.own.full {
            // The first time counts: when a job ends and another starts it is as many again.
            let now = self.epoch.nanos();
            let _ = self.own.grown.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
        thread::sleep(self.own.block);
        self.own.running.fetch_sub(1, Ordering::Relaxed);
        self.tally.ran(index, 0);
        // The latch publishes all the above to the waiting thread.
        self.latch.arrive(index);
    }
}

impl Workload for Elastic {
    const DONE: &'static str = "grow a pool for calls that block";
    const LIKE: &'static str = "It stands for pools beside an async runtime: file system, name look-ups, old libraries that block.";
    type Family = ElasticPools;

    const METRICS: &'static [Metric] = metrics! {
        less "s": "grown" "all";
        more "jobs": "at-once";
        less "threads": "left";
    };

    fn check(&self) -> Result<(), Stop> {
        Stop::usage_if(self.core > self.max, "--core must be at most --max")
    }

    fn threads(&self) -> usize {
        self.max as usize
    }

    fn quiet(&self) -> Duration {
        self.pause() + Duration::from_millis(self.block_ms)
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.jobs, 1).times(self.bursts)
    }

    fn note(&self) -> Option<String> {
        let (all, full) = (self.jobs.div_ceil(self.max) * self.block_ms, self.full());
        Some(format!("ideal: all in {all} ms, {full} at once, {} left", self.core))
    }
}

impl VisitElastic for Run<Elastic> {
    fn visit<O: Submit, I: Submit>(self, start: StartSized<O, I>) -> Outcome {
        counted(self.workload, self.bench, move |workload, bench| {
            let keep_alive = Duration::from_millis(workload.keep_alive_ms);
            let size =
                Size { core: workload.core as usize, max: workload.max as usize, keep_alive };
            let others = Census::take()?;
            let pool = started(start, size)?;
            warm(&pool, size.core, bench.tally)?;
            let values = workload.run(&pool, &others, bench)?;
            end(pool);
            Ok(values)
        })
    }
}

impl Elastic {
    /// Runs once. `others` are the threads from before the pool.
    fn run(
        &self,
        pool: &Running<impl Submit, impl Submit>,
        others: &Census,
        bench: &Bench,
    ) -> Outcome {
        let (full, block) = (self.full() as usize, Duration::from_millis(self.block_ms));
        let shared = Shared::leak(bench, Blocking { full, block, ..Blocking::default() });
        let (outside, pause) = (pool.outside.clone(), self.pause());
        let (mut grown, mut all) = (Vec::new(), Vec::new());
        let (mut at_once, mut left) = (Vec::new(), Vec::new());
        let mut meter = Meter::default();
        // The threads started by the warm-up end, as after each burst.
        thread::sleep(pause);
        let lap = Lap::begin();
        for burst in 1..=self.bursts {
            let (full, ended) = self.burst(&outside, shared, bench)?;
            bench.tally.wait_for(burst * self.jobs)?;
            grown.push(full);
            all.push(ended);
            at_once.push(shared.own.most.load(Ordering::Relaxed) as f64);
            thread::sleep(pause);
            left.push(others.newcomers()?.len() as f64);
        }
        // The pauses are timed too: the CPU time of threads waiting for their end is part of the
        // price.
        meter.end(&lap);
        // The least: an occasional burst with few threads must be visible.
        let fewest = quantile(&sorted(at_once), 0.0);
        let left = if Census::POSSIBLE { median(left) } else { f64::NAN };
        Ok(vec![median(grown), median(all), fewest, left, meter.cpus()])
    }

    /// Submits the jobs of a burst and waits for the last. Returns the seconds from the first submission until the full number of jobs
    /// ran at once, and to the end of the last job.
    fn burst<S: Submit>(
        &self,
        outside: &S,
        shared: &'static Shared<Blocking>,
        bench: &Bench,
    ) -> Result<(f64, f64), Failure> {
        shared.latch.arm(self.jobs as usize);
        shared.own.most.store(0, Ordering::Relaxed);
        shared.own.grown.store(0, Ordering::Relaxed);
        let begun = shared.epoch.nanos();
        let jobs = bench.fault.tasks(0..self.jobs as u32);
        jobs.for_each(|index| outside.submit(move || shared.job(index)));
        let ended = shared.latch.wait(bench.tally)?;
        // A pool without all threads at work has them at the end at the earliest.
        let grown = shared.own.grown.load(Ordering::Relaxed);
        let full = if grown == 0 { ended } else { grown };
        let since = |nanos: u64| seconds(nanos.saturating_sub(begun));
        Ok((since(full), since(ended)))
    }

    /// Jobs at once in a pool as large as a burst can make it.
    fn full(&self) -> u64 {
        self.jobs.min(self.max)
    }

    /// Time between two bursts: the pool is down to the core size before the end of the pause.
    fn pause(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms) + GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::{Bench, Census, Elastic, Running, Submit, Workload as _};
    use crate::fault::Fault;
    use crate::tally::Tally;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    /// A pool that starts a thread for each of this many jobs, and then runs jobs in turn.
    #[derive(Clone)]
    struct Fading(Arc<AtomicUsize>);

    impl Submit for Fading {
        fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
            let fresh = |left: usize| left.checked_sub(1);
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fresh) {
                Ok(_) => drop(thread::spawn(job)),
                Err(_) => job(),
            }
        }
    }

    #[test]
    fn a_burst_on_few_threads_is_noticed() {
        let elastic =
            Elastic { core: 1, max: 8, keep_alive_ms: 1, jobs: 4, block_ms: 30, bursts: 3 };
        let bench = Bench::new(Tally::leak(), Fault::None);
        let others = Census::take().expect("threads");
        let target = Running::alike(Fading(Arc::new(AtomicUsize::new(8))), || ());
        let values = elastic.run(&target, &others, &bench).expect("values");
        let of = |name| {
            values[Elastic::METRICS.iter().position(|metric| metric.name == name).expect("one")]
        };
        // Two bursts of three had a thread for each job; the third took four turns.
        assert_eq!(of("at-once"), 1.0, "{values:?}");
        assert!(of("grown") <= of("all") && of("all") >= 0.03, "{values:?}");
        bench.tally.check(elastic.expected()).expect("every job once");
    }
}
