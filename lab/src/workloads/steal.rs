//! Measures how soon another thread begins a fork whose sibling computes.
//!
//! A fork has two closures, and which of them another thread may begin is the pool's choice: the later start is measured.

use std::thread::{self, ThreadId};

use crate::setup::started;
use crate::target::fork::Start;
use crate::targets::forks::Forks;
use crate::workload::ForkWorkload;
use crate::workloads::prelude::*;

/// Options of `steal`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Steal {
    /// Threads of the pool.
    #[arg(long, default_value_t = 2, value_parser = whole::<2, { limits::MAX_THREADS }>)]
    threads: u64,
    /// Microseconds of computing in each closure of a fork.
    #[arg(long, default_value_t = 2_000, value_parser = whole::<1, { limits::MAX_WORK_US }>)]
    sibling_us: u64,
    /// Microseconds of computing before a fork.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<0, { limits::MAX_WORK_US }>)]
    before_us: u64,
    /// Forks in a run, in turn.
    #[arg(long, default_value_t = 300, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    shots: u64,
}

/// Where a closure began, and when.
type Begun = (ThreadId, u64);

impl Workload for Steal {
    const DONE: &'static str = "share a fork that one thread holds";
    const LIKE: &'static str =
        "It stands for uneven recursion: a parser or a search that computes long before it splits.";
    type Family = Forks;
    const METRICS: &'static [Metric] = metrics! {
        less "s": "p50" "p99" "p99.9" "max";
        less "forks": "kept";
    };

    fn expected(&self) -> Sum {
        Sum::grid(self.shots, 2)
    }
}

impl ForkWorkload for Steal {
    fn run<F: ForkJoin>(&self, start: Start<F>, bench: &Bench) -> Outcome {
        let target = started(start, self.threads())?;
        let (mut meter, mut kept) = (Meter::default(), 0);
        let mut times = Vec::with_capacity(self.shots as usize);
        target.attach(|outside| {
            for shot in 0..self.shots as u32 {
                let lap = Lap::begin();
                let (forked, one, other) = F::enter(outside, |context| {
                    let epoch = Epoch::new();
                    self.fork::<F>(context, epoch, |step| {
                        (0..bench.fault.copies(shot)).for_each(|_| bench.tally.ran(shot, step));
                    })
                });
                meter.end(&lap);
                kept += u32::from(one.0 == other.0);
                times.push(seconds(one.1.max(other.1) - forked));
            }
        });
        drop(target);
        bench.tally.check(bench.tally.expected())?;
        let times = bench.quantiles(times, [0.5, 0.99, 0.999, 1.0]);
        Ok([&times[..], &[f64::from(kept), meter.cpus()]].concat())
    }
}

impl Steal {
    /// Forks once; returns when, and the beginnings of both closures.
    fn fork<F: ForkJoin>(
        &self,
        context: &mut F::Context<'_>,
        epoch: Epoch,
        ran: impl Fn(u32) + Send + Sync,
    ) -> (u64, Begun, Begun) {
        compute(epoch, self.before_us);
        let forked = epoch.nanos();
        let closure = |step| {
            let (micros, ran) = (self.sibling_us, &ran);
            move |_: &mut F::Context<'_>| {
                let begun = (thread::current().id(), epoch.nanos());
                compute(epoch, micros);
                ran(step);
                begun
            }
        };
        let (one, other) = F::join(context, closure(0), closure(1));
        (forked, one, other)
    }
}

/// Computes for some microseconds, without a call of the pool or of the system.
fn compute(epoch: Epoch, micros: u64) {
    let end = epoch.nanos() + Duration::from_micros(micros).as_nanos() as u64;
    while epoch.nanos() < end {
        std::hint::spin_loop();
    }
}
