//! rusty_pool's three tests of the time of a submission for the submitting thread.
//!
//! The jobs there sleep for a second, which is meant to be longer than the test. Here they wait for
//! a gate for as long; it opens when the measurement is over, so all jobs run and can be counted.

use std::sync::{Barrier, Condvar, Mutex, PoisonError};

use crate::target::pool;
use crate::workloads::prelude::*;

/// The number of submitting threads, and the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// A single thread submits jobs that sleep for longer than the test.
    Sleepers,
    /// Eleven threads submit such jobs.
    Contended,
    /// A single thread submits empty jobs.
    Empty,
}

/// Options of `submit`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Submit {
    /// The number of submitting threads, and the jobs.
    #[arg(long, value_enum, default_value = "sleepers")]
    pub(crate) pattern: Pattern,
    /// Threads of the pool.
    #[arg(long, default_value_t = 10, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
    /// Tasks each of the submitting threads submits.
    #[arg(long, default_value_t = 100_000, value_parser = whole::<1, { limits::MAX_MESSAGES }>)]
    pub(crate) messages: u64,
}

/// Submitting threads beside the main thread in [`Pattern::Contended`].
const FURTHER_PRODUCERS: u64 = 10;

/// How long a job sleeps if the gate stays shut.
const SLEEP: Duration = Duration::from_secs(1);

impl Workload for Submit {
    const DONE: &'static str = "hand jobs to a pool";
    const LIKE: &'static str = "It stands for a thread that must not be held up: an event loop, an audio callback, a user interface.";
    type Family = Pools;
    const FURTHER: &'static [&'static str] =
        &["brigade-elastic", "brigade-elastic-50", "rusty_pool-elastic", "rusty_pool-50"];

    const METRICS: &'static [Metric] = metrics! {
        less "s": "submit";
    };

    fn check(&self) -> Result<(), Stop> {
        let messages = [self.producers(), self.messages];
        limits::product("messages of all threads", &messages, limits::MAX_MESSAGES)
    }

    fn needs(&self) -> Needs {
        // The measuring thread is the first of the producers.
        Needs { files: 0, threads: self.producers() - 1 }
    }

    fn quiet(&self) -> Duration {
        if self.pattern == Pattern::Empty { Duration::ZERO } else { SLEEP }
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.producers() * self.messages, 1)
    }
}

impl PoolWorkload for Submit {
    fn run(&self, pool: &Running<impl pool::Submit, impl pool::Submit>, bench: &Bench) -> Outcome {
        let shut = self.pattern != Pattern::Empty;
        let shared = Shared::leak(bench, Gate::new(shut));
        let ready = Arc::new(Barrier::new(self.producers() as usize));
        let further: Vec<_> = (1..self.producers() as u32)
            .map(|index| {
                let (ready, producer) =
                    (Arc::clone(&ready), self.producer(pool, bench, shared, index));
                on_thread(move || {
                    ready.wait();
                    let begun = Instant::now();
                    producer();
                    (begun, Instant::now())
                })
            })
            .collect();
        let (producer, mut meter) = (self.producer(pool, bench, shared, 0), Meter::default());
        ready.wait();
        let lap = Lap::begin();
        producer();
        let mut stretch = (lap.began, Instant::now());
        for thread in further {
            let theirs = joined(thread);
            stretch = (stretch.0.min(theirs.0), stretch.1.max(theirs.1));
        }
        meter.end(&lap);
        shared.own.open();
        bench.tally.wait_for(self.expected().tasks)?;
        let submissions = (self.producers() * self.messages) as f64;
        Ok(vec![(stretch.1 - stretch.0).as_secs_f64() / submissions, meter.cpus()])
    }
}

impl Submit {
    /// Submitting threads.
    fn producers(&self) -> u64 {
        if self.pattern == Pattern::Contended { 1 + FURTHER_PRODUCERS } else { 1 }
    }

    /// Submits the jobs of the producer `index`.
    fn producer<O: pool::Submit, I: pool::Submit>(
        &self,
        pool: &Running<O, I>,
        bench: &Bench,
        shared: &'static Shared<Gate>,
        index: u32,
    ) -> impl Fn() + Send + use<O, I> {
        let (outside, fault, messages) = (pool.outside(), bench.fault, self.messages as u32);
        move || {
            fault.tasks(index * messages..(index + 1) * messages).for_each(|message| {
                outside.submit(move || {
                    shared.own.wait();
                    shared.tally.ran(message, 0);
                });
            });
        }
    }
}

/// A gate for all tasks: they sleep until it opens or the sleep is over.
struct Gate {
    /// Permanently open; the fast path for the many jobs that run later.
    open: AtomicBool,
    /// The lock held by sleepers while they check.
    lock: Mutex<()>,
    /// Where they sleep.
    opened: Condvar,
}

impl Gate {
    /// A gate, shut or open.
    fn new(shut: bool) -> Self {
        Gate { open: AtomicBool::new(!shut), lock: Mutex::new(()), opened: Condvar::new() }
    }

    /// Sleeps for [`SLEEP`], or until it is open.
    fn wait(&self) {
        if self.open.load(Ordering::Relaxed) {
            return;
        }
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_timeout_while(guard, SLEEP, |()| !self.open.load(Ordering::Relaxed)));
    }

    /// Opens, and wakes all sleepers.
    fn open(&self) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.open.store(true, Ordering::Relaxed);
        drop(guard);
        self.opened.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{Gate, SLEEP};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn an_opening_gate_ends_the_sleep() {
        let (gate, begun) = (Gate::new(true), Instant::now());
        thread::scope(|scope| {
            scope.spawn(|| gate.wait());
            thread::sleep(Duration::from_millis(20));
            gate.open();
        });
        assert!(begun.elapsed() < SLEEP);
        gate.wait();
    }
}
