//! What the steps of the model cost, and how that is measured here.

use std::panic;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Builder, Pool};
use serde::{Deserialize, Serialize};

use crate::census::Census;
use crate::clock::Epoch;
use crate::fault::Fault;
use crate::pins::Pin;
use crate::stats;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::workload::{Bench, fields};
use crate::workloads::chain::{Link, Shared};

/// Nanoseconds of each step; `stream` and `jitter` are shares.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct Costs {
    /// A load from a line that the CPU has.
    pub(super) hit: f64,
    /// A read-modify-write on a line that only this CPU has.
    pub(super) atomic: f64,
    /// A full fence.
    pub(super) fence: f64,
    /// The transfer of a line between two CPUs of a group.
    pub(super) transfer: f64,
    /// The transfer of a line from one group to another.
    pub(super) far: f64,
    /// The share of a transfer that a further line takes which doesn't depend on the first.
    pub(super) stream: f64,
    /// A job: it is queued, taken and called on one thread, without the read-modify-write.
    pub(super) job: f64,
    /// What a submission from outside costs, without the read-modify-write.
    pub(super) inject: f64,
    /// A submission that wakes a thread.
    pub(super) call: f64,
    /// From the beginning of that until the thread runs the job.
    pub(super) wake: f64,
    /// From the beginning of the call in which a thread sleeps until it does.
    pub(super) park: f64,
    /// A change of the CPUs that a thread may run on, with the look at them.
    pub(super) affinity: f64,
    /// By which share a computation and a wake-up take more or less.
    pub(super) jitter: f64,
}

/// A transfer between two groups of cores costs this many times one inside a group: 107 ns to 23 ns, AMD EPYC 7R13, groups of 8.
/// <https://github.com/nviennot/core-to-core-latency>
pub(super) const FAR: f64 = 107.0 / 23.0;

impl Costs {
    /// Those of the machine on which the figures of `docs/scale.md` were taken.
    pub(super) const RECORDED: Self = Self {
        hit: 0.5,
        atomic: 1.7,
        fence: 1.9,
        transfer: 19.0,
        far: 19.0 * FAR,
        stream: 0.1,
        job: 10.6,
        inject: 4.5,
        call: 7_000.0,
        wake: 14_000.0,
        park: 1_000.0,
        affinity: 1_000.0,
        jitter: 0.1,
    };

    /// These, with others in their place. `far` follows `transfer` unless it is one of them.
    pub(super) fn with(&self, changes: &[(String, f64)]) -> Result<Self, Stop> {
        let mut fields = fields(self);
        let transfer = changes.iter().rfind(|(name, _)| name == "transfer");
        let far = transfer.map(|(_, value)| ("far".to_owned(), FAR * value));
        for (name, value) in far.iter().chain(changes) {
            let names = fields.keys().cloned().collect::<Vec<_>>().join(", ");
            let unknown = || Stop::Usage(format!("there is no cost {name}, but {names}"));
            *fields.get_mut(name).ok_or_else(unknown)? = (*value).into();
        }
        let costs = serde_json::from_value(fields.into());
        costs.map_err(|error| Stop::Usage(format!("these costs can't be: {error}")))
    }

    /// They by name, as options of `simulate`.
    pub(super) fn line(&self) -> String {
        let costs = fields(self).into_iter();
        costs
            .map(|(name, cost)| format!("{name} {:.1}", cost.as_f64().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Measures them, in half a second or so.
    pub(super) fn measure() -> Result<Self, Stop> {
        let word = AtomicU64::new(0);
        let atomic = quick(|| _ = word.fetch_add(1, Ordering::SeqCst));
        let fence = quick(|| {
            word.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        });
        let [spawned, submitted] = jobs()?;
        let [call, wake] = wake()?;
        let transfer = transfer();
        Ok(Self {
            atomic,
            fence,
            transfer,
            far: FAR * transfer,
            job: (spawned - atomic).max(0.0),
            inject: (submitted - atomic).max(0.0),
            call,
            wake,
            ..Self::RECORDED
        })
    }
}

/// Batches of a calibration, of which the fastest but a few counts: the machine may do something else as well.
const BATCHES: usize = 200;

/// Nanoseconds of `count` steps that are made in a batch, divided by that.
fn fastest(count: usize, batches: usize, mut batch: impl FnMut() -> Duration) -> f64 {
    let times = (0..batches).map(|_| batch().as_nanos() as f64);
    stats::quantile(&stats::sorted(times.collect()), 0.1) / count as f64
}

/// Nanoseconds of something quick.
fn quick(mut step: impl FnMut()) -> f64 {
    const COUNT: usize = 500;
    fastest(COUNT, BATCHES, || {
        let begun = Instant::now();
        (0..COUNT).for_each(|_| step());
        begun.elapsed()
    })
}

/// A line alone.
#[derive(Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// Waits until a line has this value, and yields the CPU from time to time, which the other thread may need.
fn wait_for(line: &Padded, value: u64) {
    let mut looks = 0_u32;
    while line.0.load(Ordering::Acquire) != value {
        looks = looks.wrapping_add(1);
        if looks % 4096 == 0 {
            thread::yield_now();
        }
    }
}

/// A transfer: two threads pass a turn to and fro on one line, which is a read and a write of what the other has, each way.
fn transfer() -> f64 {
    const TURNS: u64 = 100;
    let turn = Padded::default();
    let pass = |number: u64, to: u64| {
        wait_for(&turn, 2 * number + to);
        turn.0.store(2 * number + to + 1, Ordering::Release);
    };
    let (all, pass) = (TURNS * BATCHES as u64, &pass);
    thread::scope(|scope| {
        // On threads of their own, as their CPUs are changed.
        let first = scope.spawn(move || {
            let others = Census::take();
            scope.spawn(move || (0..all).for_each(|number| pass(number, 1)));
            // If that is refused, the system places them.
            let _ = others.and_then(|others| Pin::Apart.place(&others));
            let mut batches = (0..all).step_by(TURNS as usize);
            fastest(4 * TURNS as usize, BATCHES, || {
                let begun = Instant::now();
                let first = batches.next().unwrap_or_default();
                (first..first + TURNS).for_each(|number| pass(number, 0));
                begun.elapsed()
            })
        });
        first.join().unwrap_or_else(|cause| panic::resume_unwind(cause))
    })
}

/// What a job costs that the one before it has spawned, and what a submission from outside costs while no worker takes anything.
/// On a pool of one worker, which needs no fence and shares nothing.
fn jobs() -> Result<[f64; 2], Stop> {
    const JOBS: u32 = 50_000;
    const CHAINS: u32 = 64;
    beside(|pool| {
        let shared = Shared::leak(&Bench::new(Tally::leak(), Fault::None), 0, 0, None);
        let submit = |count: u32, left: u32| {
            for message in 0..count {
                let link = Link { inside: pool.handle(), message, left, shared };
                pool.execute(move || link.run());
            }
        };
        let spawned = fastest(JOBS as usize, BATCHES / 10, || {
            let begun = Instant::now();
            submit(CHAINS, JOBS / CHAINS - 1);
            pool.wait_idle();
            begun.elapsed()
        });
        let submitted = fastest(JOBS as usize, BATCHES / 10, || {
            let gate = Arc::new(Barrier::new(2));
            let inside = gate.clone();
            pool.execute(move || (0..2).for_each(|_| _ = inside.wait()));
            gate.wait();
            let begun = Instant::now();
            submit(JOBS, 0);
            let elapsed = begun.elapsed();
            gate.wait();
            pool.wait_idle();
            elapsed
        });
        [spawned, submitted]
    })
}

/// What a submission to an idle pool of one worker costs, and how long it takes until the job runs. So it is with all that is in no
/// cache after such a pause.
fn wake() -> Result<[f64; 2], Stop> {
    const GROUPS: usize = 10;
    beside(|pool| {
        let (epoch, began) = (Epoch::new(), Arc::new(AtomicU64::new(0)));
        let shot = |_| {
            // As in the workload `wake`.
            thread::sleep(Duration::from_micros(1_600));
            let (begun, inside) = (epoch.nanos(), began.clone());
            pool.execute(move || inside.store(epoch.nanos(), Ordering::Release));
            let call = epoch.nanos() - begun;
            thread::sleep(Duration::from_micros(400));
            pool.wait_idle();
            (call as f64, began.load(Ordering::Acquire).saturating_sub(begun) as f64)
        };
        // Of 15 the median, as in the row of the check, and of these the fastest but a few.
        let group = |_| {
            let (calls, wakes) = (0..15).map(shot).unzip::<_, _, Vec<_>, Vec<_>>();
            (stats::median(calls), stats::median(wakes))
        };
        let (calls, wakes) = (0..GROUPS).map(group).unzip::<_, _, Vec<_>, Vec<_>>();
        [calls, wakes].map(|times| stats::quantile(&stats::sorted(times), 0.1))
    })
}

/// Runs this on a thread of its own, with a pool of one worker that is on another CPU, as each thread of the model has one for itself.
/// The kernel would often place both on one CPU: without a transfer, without an interrupt for a wake-up, and one after the other.
fn beside<T: Send>(run: impl FnOnce(&Pool) -> T + Send) -> Result<T, Stop> {
    let refused = |error| Stop::Refused(format!("a pool of one thread can't start: {error}"));
    let placed = || {
        let others = Census::take();
        let pool = Builder::new().threads(1).build().map_err(refused)?;
        // Its thread is there then.
        pool.execute(|| ());
        pool.wait_idle();
        // If that is refused, the system places them.
        let _ = others.and_then(|others| Pin::Beside.place(&others));
        Ok(run(&pool))
    };
    thread::scope(|scope| {
        scope.spawn(placed).join().unwrap_or_else(|cause| panic::resume_unwind(cause))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::beside;
    use crate::pins::{allowed, tests::alone};

    fn mine() -> Vec<usize> {
        allowed().expect("a set")
    }

    #[test]
    fn the_worker_that_is_measured_and_the_thread_that_measures_have_a_cpu_each() {
        let _alone = alone();
        let before = mine();
        let (this, worker) =
            beside(|pool| (mine(), pool.submit(mine).join().expect("it ran"))).expect("a pool");
        assert_eq!((this.len(), worker.len()), (1, 1));
        assert_eq!(this != worker, before.len() > 1, "{this:?} {worker:?}");
        assert_eq!(mine(), before, "this thread is left where it was");
    }
}
