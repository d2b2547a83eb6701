//! rusty_pool's three tests of the time of a submission for the submitting thread.
//!
//! The jobs there sleep for a second, which is meant to be longer than the test. Here they wait for
//! a gate for as long; it opens when the measurement is over, so all jobs run and can be counted.

use std::convert::Infallible;

use crossbeam_channel::{Receiver, unbounded};

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
        let (shut, gate) = unbounded();
        let gate = (self.pattern != Pattern::Empty).then_some(gate);
        let shared = Shared::leak(bench, gate);
        let ready = Arc::new(Barrier::new(self.producers() as usize));
        let further = (1..self.producers() as u32).map(|index| {
            let (ready, producer) = (Arc::clone(&ready), self.producer(pool, bench, shared, index));
            on_thread(move || {
                ready.wait();
                let begun = Instant::now();
                producer();
                (begun, Instant::now())
            })
        });
        let further: Vec<_> = further.collect();
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
        drop(shut);
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
        let (outside, fault, messages) = (pool.outside.clone(), bench.fault, self.messages as u32);
        move || {
            fault.tasks(index * messages..(index + 1) * messages).for_each(|message| {
                outside.submit(move || {
                    wait(&shared.own);
                    shared.tally.ran(message, 0);
                });
            });
        }
    }
}

/// A gate for all tasks, unless it is open from the start: it opens when the sender is gone.
type Gate = Option<Receiver<Infallible>>;

/// Sleeps for [`SLEEP`], or until the gate is open.
fn wait(gate: &Gate) {
    let _ = gate.as_ref().map(|gate| gate.recv_timeout(SLEEP));
}

#[cfg(test)]
mod tests {
    use super::{SLEEP, unbounded, wait};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn an_opening_gate_ends_the_sleep() {
        let ((shut, gate), begun) = (unbounded(), Instant::now());
        let gate = Some(gate);
        thread::scope(|scope| {
            scope.spawn(|| wait(&gate));
            thread::sleep(Duration::from_millis(20));
            drop(shut);
        });
        assert!(begun.elapsed() < SLEEP);
        wait(&gate);
    }
}
