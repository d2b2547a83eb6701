//! A task spawns k children on its worker; measures how soon other workers take their share.

use crate::machine;
use crate::workloads::prelude::*;

/// Options of `fan-out`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct FanOut {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Tasks spawned by the first.
    #[arg(long, default_value_t = 64, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    pub(crate) children: u64,
    /// Microseconds of work in each of them.
    #[arg(long, default_value_t = 20, value_parser = whole::<0, { limits::MAX_WORK_US }>)]
    pub(crate) work_us: u64,
    /// Fan-outs in a run, in turn.
    #[arg(long, default_value_t = 100, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    pub(crate) shots: u64,
}

/// Sleep before each shot: the pool is asleep for more than a millisecond of it.
const PAUSE: Duration = Duration::from_micros(1_600);

/// A task and its children.
struct Children {
    /// When the first task of the shot began.
    begun: AtomicU64,
    /// How many children there are.
    children: u32,
    /// Units of work in each.
    units: u64,
    /// The fault to make on purpose.
    fault: Fault,
}

impl Shared<Children> {
    /// The task that spawns the others.
    fn parent<S: Submit>(&'static self, inside: &S) {
        self.own.begun.store(self.epoch.nanos(), Ordering::Relaxed);
        let children = self.own.fault.tasks(0..self.own.children);
        children.for_each(|child| inside.submit(move || self.child(child)));
        self.tally.ran(self.own.children, 0);
    }

    /// Any of the others.
    fn child(&'static self, index: u32) {
        grind(self.own.units);
        self.tally.ran(index, 0);
        self.latch.arrive(index);
    }
}

impl Workload for FanOut {
    const DONE: &'static str = "split one job into many";
    const LIKE: &'static str = "It stands for a request that is answered in parts: a search over shards, a build graph, tiles of an image.";
    type Family = Pools;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "p50" "p90" "p99" "p99.9" "max";
    };

    fn expected(&self) -> Sum {
        // The parent counts as the child after the last.
        Sum::grid(1 + self.children, 1).times(self.shots)
    }

    fn note(&self) -> Option<String> {
        let cpus = machine::cpus() as u64;
        let ideal = (self.children * self.work_us) as f64 / self.threads.min(cpus) as f64;
        Some(format!("ideal: {ideal:.0} µs, the work over {} CPUs", self.threads.min(cpus)))
    }
}

impl PoolWorkload for FanOut {
    fn run(&self, pool: &Running<impl Submit, impl Submit>, bench: &Bench) -> Outcome {
        let children = Children {
            begun: AtomicU64::new(0),
            children: self.children as u32,
            units: units_for(self.work_us),
            fault: bench.fault,
        };
        let shared = Shared::leak(bench, children);
        let (outside, mut meter) = (pool.outside.clone(), Meter::default());
        let mut times = Vec::with_capacity(self.shots as usize);
        for shot in 1..=self.shots {
            thread::sleep(PAUSE);
            shared.latch.arm(self.children as usize);
            let inside = pool.inside.clone();
            let lap = Lap::begin();
            outside.submit(move || shared.parent(&inside));
            let ended = shared.latch.wait(bench.tally)?;
            meter.end(&lap);
            times.push(seconds(ended.saturating_sub(shared.own.begun.load(Ordering::Relaxed))));
            // The parent is counted at the end, for which the children don't wait.
            bench.tally.wait_for(shot * (1 + self.children))?;
        }
        let times = bench.quantiles(times, [0.5, 0.9, 0.99, 0.999, 1.0]);
        Ok([&times[..], &[meter.cpus()]].concat())
    }
}
