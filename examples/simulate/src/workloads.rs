//! The workloads of the model: what `throughput`, `fan-out` and `wake` do, and wake-ups as fast as they can be.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::costs::Costs;
use crate::figures::{median, middle};
use crate::machine::{Cpu, Machine, Thread, Time};
use crate::pool::{Counts, Job, Pool, Worker};

/// Nanoseconds between two shots: every worker sleeps before that is over.
const PAUSE: f64 = 3_000_000.0;

/// A machine, and a pool on it.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) costs: Costs,
    /// Cores of a group.
    pub(crate) group: usize,
    pub(crate) seed: u64,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// Seconds: the median of the shots, or all of it.
    pub(crate) time: f64,
    /// Seconds that a submission took, where that is measured: the median.
    pub(crate) submit: f64,
    /// The line that was in transfer for the largest share of the time, and the share.
    pub(crate) busiest: (&'static str, f64),
    /// Wake-ups per second of the time that was measured.
    pub(crate) wake_rate: f64,
    pub(crate) counts: Counts,
    /// Workers that sleep at the end.
    pub(crate) parked: usize,
}

/// A run that is being made.
struct Stage {
    machine: Rc<Machine>,
    pool: Rc<Pool>,
    threads: Vec<Thread>,
    seed: u64,
}

impl Stage {
    /// A pool of sleeping workers, and CPUs for other threads beside it.
    fn new(setting: &Setting, workers: usize, others: usize, cpus: usize) -> Self {
        let machine = Machine::new(setting.costs.clone(), workers + others, setting.group);
        let (pool, seed) = (Pool::new(workers, cpus), setting.seed);
        let thread = |index| Worker::thread(&pool, Cpu::new(&machine, index, seed));
        let threads = (0..workers).map(thread).collect();
        Self { machine, pool, threads, seed }
    }

    /// Adds a thread that does this on the next CPU.
    fn add<F: Future<Output = ()> + 'static>(&mut self, run: impl FnOnce(Rc<Pool>, Cpu) -> F) {
        let cpu = Cpu::new(&self.machine, self.threads.len(), self.seed);
        self.threads.push(Box::pin(run(self.pool.clone(), cpu)));
    }

    /// Runs to the end. Work that is left while all threads sleep would be a lost wake-up.
    fn run(self, outcome: Rc<Outcome>) -> Run {
        let Self { machine, pool, threads, .. } = self;
        assert!(machine.run(threads), "all threads sleep, and there is work");
        let times = outcome.times.borrow().clone();
        let all: Time = times.iter().sum();
        let busiest = pool.busy().into_iter().max_by_key(|(_, busy)| *busy).unwrap_or_default();
        let seconds = |time: Time| time as f64 / 1e12;
        let submits = outcome.submits.take().into_iter().map(seconds);
        Run {
            time: median(times.iter().copied().map(seconds).collect()),
            submit: middle(submits.collect()),
            busiest: (busiest.0, busiest.1 as f64 / all.max(1) as f64),
            wake_rate: pool.happened.get().wakes as f64 / seconds(all.max(1)),
            counts: pool.happened.get(),
            parked: pool.parked(),
        }
    }
}

/// What the threads of a run have measured.
#[derive(Default)]
struct Outcome {
    /// How long each shot took, or all of it.
    times: RefCell<Vec<Time>>,
    /// How long each submission took, where that is measured.
    submits: RefCell<Vec<Time>>,
}

/// `throughput`: each producer submits messages, and each message is a chain of jobs. The rate is that of all jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughput {
    pub(crate) workers: usize,
    pub(crate) producers: usize,
    pub(crate) messages: u64,
    pub(crate) amplification: u32,
    /// Nanoseconds that each job computes before it submits the next, and after that.
    pub(crate) pre: f64,
    pub(crate) post: f64,
}

impl Throughput {
    pub(crate) fn jobs(&self) -> u64 {
        self.producers as u64 * self.messages * (1 + u64::from(self.amplification))
    }

    pub(crate) fn run(&self, setting: &Setting, cpus: usize) -> Run {
        let Self { workers, producers, messages, amplification, pre, post } = *self;
        let mut stage = Stage::new(setting, workers, producers, cpus);
        let (outcome, jobs) = (Rc::<Outcome>::default(), self.jobs());
        for producer in 0..producers {
            let outcome = outcome.clone();
            stage.add(|pool, cpu| async move {
                for _ in 0..messages {
                    pool.inject(&cpu, Job { chain: amplification, pre, post, ..Job::default() })
                        .await;
                }
                if producer == 0 {
                    pool.wait_for(&cpu, jobs).await;
                    outcome.times.borrow_mut().push(cpu.machine.now());
                    cpu.machine.stop();
                }
            });
        }
        stage.run(outcome)
    }
}

/// `fan-out`: an idle pool gets a job, whose children are worth `work` nanoseconds each. The time is that from the first line of
/// the job to the end of the last child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FanOut {
    pub(crate) workers: usize,
    pub(crate) children: u32,
    pub(crate) work: f64,
    pub(crate) shots: u64,
}

impl FanOut {
    pub(crate) fn run(&self, setting: &Setting, cpus: usize) -> Run {
        let Self { workers, children, work, shots } = *self;
        let mut stage = Stage::new(setting, workers, 1, cpus);
        let outcome = Rc::<Outcome>::default();
        let noted = outcome.clone();
        stage.add(|pool, cpu| async move {
            for shot in 1..=shots {
                cpu.spend(PAUSE).await;
                pool.inject(&cpu, Job { children, post: work, ..Job::default() }).await;
                pool.wait_for(&cpu, shot * (1 + u64::from(children))).await;
                noted.times.borrow_mut().push(cpu.machine.now() - pool.began.get());
            }
            cpu.spend(PAUSE).await;
            cpu.machine.stop();
        });
        stage.run(outcome)
    }
}

/// `wake`: an idle pool gets a job. The time is that until it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wake {
    pub(crate) workers: usize,
    pub(crate) shots: u64,
}

impl Wake {
    pub(crate) fn run(&self, setting: &Setting, cpus: usize) -> Run {
        let Self { workers, shots } = *self;
        let mut stage = Stage::new(setting, workers, 1, cpus);
        let outcome = Rc::<Outcome>::default();
        let noted = outcome.clone();
        stage.add(|pool, cpu| async move {
            for _ in 0..shots {
                cpu.spend(PAUSE).await;
                let begun = cpu.machine.now();
                let submit = pool.run(&cpu).await;
                noted.submits.borrow_mut().push(submit);
                noted.times.borrow_mut().push(pool.began.get() - begun);
            }
            cpu.spend(PAUSE).await;
            cpu.machine.stop();
        });
        stage.run(outcome)
    }
}

/// Wake-ups as fast as they can be: each of several threads submits a job, waits for its end, and submits the next, while the
/// workers sleep whenever there is none. The rate is that of the workers that are woken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) workers: usize,
    pub(crate) submitters: usize,
    pub(crate) jobs: u64,
}

impl Stream {
    pub(crate) fn run(&self, setting: &Setting, cpus: usize) -> Run {
        let Self { workers, submitters, jobs } = *self;
        let mut stage = Stage::new(setting, workers, submitters, cpus);
        let outcome = Rc::<Outcome>::default();
        let left = Rc::new(Cell::new(submitters));
        for _ in 0..submitters {
            let (outcome, left) = (outcome.clone(), left.clone());
            stage.add(|pool, cpu| async move {
                for _ in 0..jobs {
                    pool.run(&cpu).await;
                }
                left.set(left.get() - 1);
                if left.get() == 0 {
                    outcome.times.borrow_mut().push(cpu.machine.now());
                    cpu.machine.stop();
                }
            });
        }
        stage.run(outcome)
    }
}
