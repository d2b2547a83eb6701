//! What the steps of the model cost, and how that is measured here.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use std::{panic, thread};

use anyhow::{Context, Result};
use brigade::Handle;

use crate::figures::{median, quantile, sorted};
use crate::place::{Place, threads};

/// Nanoseconds of each step; `stream` and `jitter` are shares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Costs {
    /// A load from a line that the CPU has.
    pub(crate) hit: f64,
    /// A read-modify-write on a line that only this CPU has.
    pub(crate) atomic: f64,
    /// A full fence.
    pub(crate) fence: f64,
    /// The transfer of a line between two CPUs of a group.
    pub(crate) transfer: f64,
    /// The transfer of a line from one group to another.
    pub(crate) far: f64,
    /// The share of a transfer that a further line takes which doesn't depend on the first.
    pub(crate) stream: f64,
    /// A job: it is queued, taken and called on one thread, without the read-modify-write.
    pub(crate) job: f64,
    /// What a submission from outside costs, without the read-modify-write.
    pub(crate) inject: f64,
    /// A submission that wakes a thread.
    pub(crate) call: f64,
    /// From the beginning of that until the thread runs the job.
    pub(crate) wake: f64,
    /// From the beginning of the call in which a thread sleeps until it does.
    pub(crate) park: f64,
    /// A change of the CPUs that a thread may run on, with the look at them.
    pub(crate) affinity: f64,
    /// By which share a computation and a wake-up take more or less.
    pub(crate) jitter: f64,
}

/// A transfer between two groups of cores costs this many times one inside a group: 107 ns to 23 ns, AMD EPYC 7R13, groups of 8.
/// <https://github.com/nviennot/core-to-core-latency>
pub(crate) const FAR: f64 = 107.0 / 23.0;

impl Costs {
    /// Those of the machine on which the figures of `docs/scale.md` were taken.
    pub(crate) const RECORDED: Self = Self {
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

    /// Every cost with its name.
    fn fields(&mut self) -> [(&'static str, &mut f64); 13] {
        macro_rules! fields {
            ($($name:ident)+) => { [$((stringify!($name), &mut self.$name),)+] };
        }
        fields!(hit atomic fence transfer far stream job inject call wake park affinity jitter)
    }

    /// These, with others in their place. `far` follows `transfer` unless it is one of them.
    pub(crate) fn with(mut self, changes: &[(String, f64)]) -> Result<Self> {
        let names = self.clone().fields().map(|(name, _)| name).join(", ");
        let transfer = changes.iter().rfind(|(name, _)| name == "transfer");
        let far = transfer.map(|(_, value)| ("far".to_owned(), FAR * value));
        for (name, value) in far.iter().chain(changes) {
            let mut fields = self.fields().into_iter();
            let field = fields.find(|(known, _)| known == name);
            let (_, field) =
                field.with_context(|| format!("there is no cost {name}, but {names}"))?;
            *field = *value;
        }
        Ok(self)
    }

    /// They by name, as options of the program.
    pub(crate) fn line(&self) -> String {
        self.clone().fields().map(|(name, cost)| format!("{name} {cost:.1}")).join(", ")
    }

    /// Measures them, in half a second or so.
    pub(crate) fn measure() -> Result<Self> {
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
    quantile(&sorted(times.collect()), 0.1) / count as f64
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
            let before = threads();
            scope.spawn(move || (0..all).for_each(|number| pass(number, 1)));
            // If that is refused, the system places them.
            let _ = before.and_then(|before| Place::Apart.pin(&before));
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
fn jobs() -> Result<[f64; 2]> {
    const JOBS: u32 = 50_000;
    const CHAINS: u32 = 64;
    Place::Beside.with_pool(1, |pool| {
        let submit = |count: u32, left: u32| {
            for _ in 0..count {
                let inside = pool.handle();
                pool.execute(move || link(inside, left));
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
fn wake() -> Result<[f64; 2]> {
    const GROUPS: usize = 10;
    Place::Beside.with_pool(1, |pool| {
        let began = Arc::new(AtomicU64::new(0));
        let shot = |_| {
            // As in the workload `wake`.
            thread::sleep(Duration::from_micros(1_600));
            let (begun, inside) = (Instant::now(), began.clone());
            let nanos = move || begun.elapsed().as_nanos() as u64;
            pool.execute(move || inside.store(nanos(), Ordering::Release));
            let call = nanos();
            thread::sleep(Duration::from_micros(400));
            pool.wait_idle();
            (call as f64, began.load(Ordering::Acquire) as f64)
        };
        // Of 15 the median, as in the row of the check, and of these the fastest but a few.
        let group = |_| {
            let (calls, wakes) = (0..15).map(shot).unzip::<_, _, Vec<_>, Vec<_>>();
            (median(calls), median(wakes))
        };
        let (calls, wakes) = (0..GROUPS).map(group).unzip::<_, _, Vec<_>, Vec<_>>();
        [calls, wakes].map(|times| quantile(&sorted(times), 0.1))
    })
}

/// A job that spawns the next one, `left` times.
pub(crate) fn link(inside: Handle, left: u32) {
    if let Some(left) = left.checked_sub(1) {
        inside.execute(move || link(inside, left));
    }
}
