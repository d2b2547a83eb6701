//! The configuration of one pool, and how it ends, at random.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

use brigade::{Builder, Growth, Idle, Order, Placement, Pool, Queueing, Shutdown, WhenFull};
use fastrand::Rng;

/// How a pool ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Drop,
    /// Dropped by one of its own jobs.
    DropInside,
    Shutdown(Shutdown),
    Timeout(Shutdown, Duration),
    /// Closed by two threads at once, made larger or smaller, waited for and then shut down.
    Close(Shutdown),
    Detach,
}

/// A pool and its operations.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) threads: RangeInclusive<usize>,
    spare: usize,
    growth: Growth,
    keep_alive: Duration,
    prestart: bool,
    queueing: Queueing,
    order: Order,
    fairness: u32,
    idle: Idle,
    placement: Placement,
    /// How many jobs may be queued, and the policy for one more.
    pub(crate) capacity: Option<(usize, WhenFull)>,
    /// One in this many threads can't be started.
    fails: Option<u64>,
    /// Threads that submit at once.
    pub(crate) producers: usize,
    /// What each of them does, in calls.
    pub(crate) calls: u32,
    pub(crate) end: End,
}

/// A size: up to six threads, perhaps none to begin with.
pub(crate) fn size(random: &mut Rng) -> RangeInclusive<usize> {
    let max = random.usize(1..=6);
    random.usize(0..=max.min(2))..=max
}

fn short(random: &mut Rng) -> Duration {
    Duration::from_micros(random.u64(0..=500))
}

fn end(random: &mut Rng) -> End {
    let how = [Shutdown::Drain, Shutdown::Discard, Shutdown::Finish][random.usize(0..3)];
    match random.u8(0..9) {
        0 => End::Drop,
        1 => End::DropInside,
        2 => End::Timeout(how, short(random)),
        3..5 => End::Close(how),
        5 => End::Detach,
        _ => End::Shutdown(how),
    }
}

/// None for every third pool. Half of the others are full nearly always, the rest now and then.
fn capacity(random: &mut Rng) -> Option<(usize, WhenFull)> {
    let most = match random.u8(0..6) {
        0..2 => return None,
        2..4 => 4,
        _ => 200,
    };
    let when_full = match random.u8(0..6) {
        0 => WhenFull::Reject,
        1 => WhenFull::Block,
        2 => WhenFull::BlockFor(short(random)),
        3 => WhenFull::RunInCaller,
        4 => WhenFull::DropOldest,
        _ => WhenFull::DropNewest,
    };
    Some((random.usize(1..=most), when_full))
}

impl Plan {
    pub(crate) fn random(random: &mut Rng) -> Self {
        Self {
            threads: size(random),
            spare: random.usize(0..=3),
            growth: match random.u8(0..4) {
                0 => Growth::WhenQueued(random.usize(0..10)),
                1 => Growth::WhenBlocked,
                _ => Growth::OnSubmit,
            },
            keep_alive: short(random),
            prestart: random.bool(),
            queueing: if random.bool() { Queueing::Stealing } else { Queueing::Shared },
            order: if random.bool() { Order::Fifo } else { Order::Lifo },
            fairness: *random.choice(&[1, 2, 61, 1000, u32::MAX]).expect("there are some"),
            idle: match random.u8(0..8) {
                0 => Idle::Spin,
                1..3 => Idle::SpinThenPark(short(random)),
                _ => Idle::Park,
            },
            placement: if random.bool() { Placement::Spread } else { Placement::Kernel },
            capacity: capacity(random),
            fails: (random.u8(0..6) == 0).then(|| random.u64(2..10)),
            producers: random.usize(1..=3),
            calls: random.u32(0..150),
            end: end(random),
        }
    }

    /// What the pool does when it is full; `None` if it never is.
    pub(crate) fn when_full(&self) -> Option<WhenFull> {
        self.capacity.map(|(_, when_full)| when_full)
    }

    /// Whether there may be no thread for a job.
    pub(crate) fn may_lack_threads(&self) -> bool {
        self.fails.is_some()
    }

    /// The pool's builder; `random` says which threads can't be started.
    pub(crate) fn builder(&self, random: Rng) -> Builder {
        let mut builder = Pool::builder()
            .threads(self.threads.clone())
            .spare_threads(self.spare)
            .growth(self.growth)
            .keep_alive(self.keep_alive)
            .queueing(self.queueing)
            .order(self.order)
            .fairness(self.fairness)
            .idle(self.idle)
            .placement(self.placement);
        if self.prestart {
            builder = builder.prestart(usize::MAX);
        }
        if let Some((jobs, when_full)) = self.capacity {
            builder = builder.capacity(jobs).when_full(when_full);
        }
        let Some(fails) = self.fails else { return builder };
        let random = Mutex::new(random);
        builder.spawner(move |thread| match random.lock().unwrap().u64(0..fails) {
            0 => Err(io::Error::other("expected: no thread today")),
            _ => thread.start(),
        })
    }
}
