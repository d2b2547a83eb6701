//! Measures how soon as many blocking jobs as there are idle threads have begun.

use crate::workloads::prelude::*;

/// Options of `ramp-up`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct RampUp {
    /// Threads of the pool.
    #[arg(long, default_value_t = 8, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
    /// Jobs of a ramp-up [default: as many as threads]
    #[arg(long, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    jobs: Option<u64>,
    /// Milliseconds for which each of them blocks: long enough for all to begin.
    #[arg(long, default_value_t = 30, value_parser = whole::<1, { limits::MAX_BLOCK_MS }>)]
    block_ms: u64,
    /// Ramp-ups in a run, in turn.
    #[arg(long, default_value_t = 40, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    shots: u64,
}

/// Sleep before each ramp-up: the pool is asleep for some milliseconds of it.
const PAUSE: Duration = Duration::from_millis(5);

/// Blocking jobs.
struct Blocking {
    /// When the last job to begin has begun.
    latest: AtomicU64,
    /// How long a job blocks.
    block: Duration,
}

impl Shared<Blocking> {
    /// Submits this many jobs and waits for the end of the last; returns the seconds until all had
    /// begun.
    fn ramp_up<S: Submit>(
        &'static self,
        outside: &S,
        jobs: u64,
        fault: Fault,
    ) -> Result<f64, Failure> {
        self.latch.arm(jobs as usize);
        self.own.latest.store(0, Ordering::Relaxed);
        let begun = self.epoch.nanos();
        let jobs = fault.tasks(0..jobs as u32);
        jobs.for_each(|index| outside.submit(move || self.job(index)));
        self.latch.wait(self.tally)?;
        // The latch has published it.
        Ok(seconds(self.own.latest.load(Ordering::Relaxed).saturating_sub(begun)))
    }

    /// A job.
    fn job(&self, index: u32) {
        self.own.latest.fetch_max(self.epoch.nanos(), Ordering::Relaxed);
        thread::sleep(self.own.block);
        self.tally.ran(index, 0);
        self.latch.arrive(index);
    }
}

impl RampUp {
    /// Jobs of a ramp-up.
    fn jobs(&self) -> u64 {
        self.jobs.unwrap_or(self.threads)
    }

    /// Jobs of the warm-up: at least one for each thread.
    fn warm_up(&self) -> u64 {
        self.jobs().max(self.threads)
    }
}

impl Workload for RampUp {
    const DONE: &'static str = "get all idle threads to work";
    const LIKE: &'static str = "It stands for many calls that block at once: file operations, name look-ups, database queries.";
    type Family = Pools;
    const FURTHER: &'static [&'static str] =
        &["brigade-lifo", "brigade-shared", "brigade-kernel", "brigade-shared-kernel"];

    const METRICS: &'static [Metric] = metrics! {
        less "s": "p50" "p99" "p99.9" "max" "mean";
    };

    fn params(&self) -> Params {
        fields(&RampUp { jobs: Some(self.jobs()), ..self.clone() })
    }

    fn quiet(&self) -> Duration {
        PAUSE + Duration::from_millis(self.block_ms)
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.warm_up(), 1).plus(Sum::grid(self.jobs(), 1).times(self.shots))
    }

    fn note(&self) -> Option<String> {
        let turns = self.jobs().div_ceil(self.threads);
        let least = (turns - 1) * self.block_ms;
        (turns > 1).then(|| format!("ideal: {least} ms, since {turns} jobs share a thread"))
    }
}

impl PoolWorkload for RampUp {
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome {
        let block = Duration::from_millis(self.block_ms);
        let shared = Shared::leak(bench, Blocking { latest: AtomicU64::new(0), block });
        let (outside, mut meter) = (pool.outside.clone(), Meter::default());
        // All threads exist after this ramp-up: each has had a blocking job.
        shared.ramp_up(&outside, self.warm_up(), bench.fault)?;
        let mut times = Vec::with_capacity(self.shots as usize);
        for _ in 0..self.shots {
            thread::sleep(PAUSE);
            let lap = Lap::begin();
            times.push(shared.ramp_up(&outside, self.jobs(), Fault::None)?);
            meter.end(&lap);
        }
        let (mean, _) = moments(&times);
        let times = bench.quantiles(times, [0.5, 0.99, 0.999, 1.0]);
        Ok([&times[..], &[mean, meter.cpus()]].concat())
    }
}
