//! Measures how long a bystander waits beside chains of resubmitted jobs.
//!
//! The chains keep all workers busy. At the same time an outside thread submits a job now and then, the
//! bystander, and the next when the former has started. A bystander not started within the limit is
//! given up: it counts with the limit, and runs when the chains have ended.
//!
//! With the targets `brigade-high` and `brigade-low` the bystander has this class, and the chains have the default class.

use std::thread::{self, Thread};

use crate::workloads::prelude::*;

/// Options of `fairness`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Fairness {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
    /// Chains of jobs: each job submits the next of the chain.
    #[arg(long, default_value_t = 4, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    chains: u64,
    /// Microseconds of work in each job of a chain.
    #[arg(long, default_value_t = 20, value_parser = whole::<0, { limits::MAX_WORK_US }>)]
    work_us: u64,
    /// Milliseconds for which the chains run.
    #[arg(long, default_value_t = 2_000, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    millis: u64,
    /// Milliseconds between two bystanders, on average.
    #[arg(long, default_value_t = 5, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    every_ms: u64,
    /// Milliseconds after which an unstarted bystander is given up.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    limit_ms: u64,
}

/// Chains and bystanders.
struct Jobs {
    /// Units of work in a job of a chain.
    units: u64,
    /// Tells the chains to end.
    over: AtomicBool,
    /// Submits the bystanders, and waits for the start of each.
    outside: Thread,
}

/// The count that marks a bystander, beside the number; no chain is so long.
const BYSTANDER: u32 = u32::MAX;

/// Longest sleep of the thread outside before it asks whether the run was given up.
const LOOK: Duration = Duration::from_millis(200);

impl Shared<Jobs> {
    /// A job of a chain, which submits the next.
    fn link<S: Submit>(&'static self, inside: S, chain: u32, step: u32) {
        grind(self.own.units);
        self.tally.ran(chain, step);
        if self.own.over.load(Ordering::Relaxed) {
            self.tally.expect(Sum::chain(chain, u64::from(step) + 1));
            return self.latch.arrive(chain);
        }
        let next = inside.clone();
        inside.submit(move || self.link(next, chain, step + 1));
    }

    /// The bystander with this number.
    fn bystander(&self, number: u32, started: &AtomicU64) {
        // Ordering: Release pairs with the Acquire in `wait`, which reads nothing else.
        started.store(self.epoch.nanos().max(1), Ordering::Release);
        self.tally.ran(number, BYSTANDER);
        self.own.outside.unpark();
    }

    /// Waits until a bystander has started, and returns the time; `None` after `limit`.
    fn wait(&self, started: &AtomicU64, limit: Duration) -> Result<Option<u64>, Failure> {
        let begun = Instant::now();
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            match started.load(Ordering::Acquire) {
                0 if left.is_zero() => return Ok(None),
                0 => thread::park_timeout(left.min(LOOK)),
                nanos => return Ok(Some(nanos)),
            }
            self.tally.go_on()?;
        }
    }
}

impl Workload for Fairness {
    const DONE: &'static str = "answer while the pool is overloaded";
    const LIKE: &'static str = "It stands for servers at their limit: a health check or a new request beside endless background jobs.";
    type Family = Pools;
    const FURTHER: &'static [&'static str] =
        &["brigade-lifo", "brigade-shared", "brigade-high", "brigade-low"];

    const METRICS: &'static [Metric] = metrics! {
        less "s": "p50" "p99" "p99.9" "max";
        less "jobs": "given-up";
        more "tasks/s": "rate";
    };

    fn note(&self) -> Option<String> {
        Some(format!(
            "bystanders beside {} chains; one given up on after {} ms counts with these",
            self.chains, self.limit_ms
        ))
    }
}

impl PoolWorkload for Fairness {
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome {
        let (units, over) = (units_for(self.work_us), AtomicBool::new(false));
        let shared = Shared::leak(bench, Jobs { units, over, outside: thread::current() });
        let (outside, mut meter, lap) = (pool.outside.clone(), Meter::default(), Lap::begin());
        shared.latch.arm(self.chains as usize);
        for chain in 0..self.chains as u32 {
            let inside = pool.inside.clone();
            outside.submit(move || shared.link(inside, chain, 0));
        }
        let measured = self.bystanders(&outside, shared, bench);
        // In any case: unstopped chains would compute beside all later runs.
        shared.own.over.store(true, Ordering::Relaxed);
        let starts = measured?;
        shared.latch.wait(bench.tally)?;
        let wall = meter.end(&lap).as_secs_f64();
        let jobs = bench.tally.expected().tasks;
        bench.tally.wait_for(jobs)?;
        let given_up = starts.iter().filter(|start| start.is_none()).count();
        let limit = Duration::from_millis(self.limit_ms).as_secs_f64();
        let rate = (jobs - starts.len() as u64) as f64 / wall;
        let times = starts.into_iter().map(|start| start.unwrap_or(limit)).collect();
        let times = bench.quantiles(times, [0.5, 0.99, 0.999, 1.0]);
        Ok([&times[..], &[given_up as f64, rate, meter.cpus()]].concat())
    }
}

impl Fairness {
    /// Submits bystanders in turn for as long as the chains are to run, at least one: seconds until each has
    /// started, unless given up.
    fn bystanders<S: Submit>(
        &self,
        outside: &S,
        shared: &'static Shared<Jobs>,
        bench: &Bench,
    ) -> Result<Vec<Option<f64>>, Failure> {
        let (begun, mut random) = (Instant::now(), SmallRng::seed_from_u64(0));
        let limit = Duration::from_millis(self.limit_ms);
        let mut starts = Vec::new();
        while starts.is_empty() || begun.elapsed() < Duration::from_millis(self.millis) {
            // From 0.5 to 1.5 times as long, so no period of the pool coincides with every
            // bystander.
            thread::sleep(Duration::from_micros(self.every_ms * random.random_range(500..1_500)));
            let (number, started) = (starts.len() as u32, Arc::new(AtomicU64::new(0)));
            bench.tally.expect(Sum::one(number, BYSTANDER));
            let submitted = shared.epoch.nanos();
            for _ in 0..bench.fault.copies(number) {
                let started = Arc::clone(&started);
                outside.submit(move || shared.bystander(number, &started));
            }
            let start = shared.wait(&started, limit)?;
            starts.push(start.map(|start| seconds(start - submitted)));
        }
        Ok(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bench, Fairness, PoolWorkload as _, Running, Submit, Workload as _};
    use crate::fault::Fault;
    use crate::tally::Tally;
    use brigade_testkit::Watchdog;
    use std::sync::mpsc::{self, Sender};
    use std::thread;

    /// A job of any kind.
    type Job = Box<dyn FnOnce() + Send>;

    /// A way to submit to the pool of one thread.
    #[derive(Clone)]
    struct Queue(Sender<Job>);

    /// A pool of one thread, which takes jobs from inside before jobs from outside.
    type One = Running<Queue, Queue>;

    /// Starts a pool of one thread: in a fair pool both ways lead to the same queue.
    fn one(fair: bool) -> One {
        let ((inside, first), (outside, then)) = (mpsc::channel::<Job>(), mpsc::channel::<Job>());
        thread::spawn(move || {
            while let Ok(job) = first.try_recv().or_else(|_| then.recv()) {
                job();
            }
        });
        let outside = Queue(outside);
        let inside = if fair { outside.clone() } else { Queue(inside) };
        Running::new(outside, inside, || ())
    }

    impl Submit for Queue {
        fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
            drop(self.0.send(Box::new(job)));
        }
    }

    /// The values of these metrics in a run on a pool of one thread.
    fn values<const N: usize>(pool: &One, limit_ms: u64, names: [&str; N]) -> [f64; N] {
        let _watchdog = Watchdog::start(20);
        let (threads, chains, work_us, millis, every_ms) = (1, 3, 20, 100, 1);
        let fairness = Fairness { threads, chains, work_us, millis, every_ms, limit_ms };
        let bench = Bench::new(Tally::leak(), Fault::None);
        let values = fairness.run(pool, &bench).expect("values");
        bench.tally.check(bench.tally.expected()).expect("every job once");
        let of = |name| Fairness::METRICS.iter().position(|metric| metric.name == name);
        names.map(|name| values[of(name).expect("a metric")])
    }

    #[test]
    fn a_fair_pool_gives_up_no_bystander() {
        let [max, given_up, rate] = values(&one(true), 10_000, ["max", "given-up", "rate"]);
        assert!(max < 10.0 && given_up == 0.0 && rate > 0.0, "{max} {given_up} {rate}");
    }

    #[test]
    fn a_run_ends_without_any_bystander_started() {
        // The first chain never releases the thread.
        let [p50, max, given_up] = values(&one(false), 10, ["p50", "max", "given-up"]);
        assert_eq!((p50, max), (0.01, 0.01));
        assert!(given_up >= 1.0, "{given_up}");
    }
}
