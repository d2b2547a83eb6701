//! What one pool is to be like, and how it is to end: all of it by chance.
//!
//! A pool of this soak is never full, since its queue has no limit. A limit and what happens at it would be two more fields
//! of [`Plan`], set in [`Plan::builder`]; what then comes back is counted already, by `Ledger::submitted`.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

use brigade::{Builder, Growth, Idle, Order, Placement, Pool, Queueing, Shutdown};
use fastrand::Rng;

/// How a pool ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Drop,
    /// Dropped by one of its own jobs.
    DropInside,
    Shutdown(Shutdown),
    Timeout(Shutdown, Duration),
}

/// A pool and what it is to go through.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) threads: RangeInclusive<usize>,
    spare: usize,
    growth: Growth,
    keep_alive: Duration,
    core_timeout: bool,
    prestart: bool,
    queueing: Queueing,
    order: Order,
    interval: u32,
    idle: Idle,
    placement: Placement,
    /// One in so many threads can't be started.
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
    let how = if random.bool() { Shutdown::Drain } else { Shutdown::Discard };
    match random.u8(0..6) {
        0 => End::Drop,
        1 => End::DropInside,
        2 => End::Timeout(how, short(random)),
        _ => End::Shutdown(how),
    }
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
            core_timeout: random.u8(0..4) == 0,
            prestart: random.bool(),
            queueing: if random.bool() { Queueing::Stealing } else { Queueing::Shared },
            order: if random.bool() { Order::Fifo } else { Order::Lifo },
            interval: *random.choice(&[1, 2, 61, 1000]).expect("there are some"),
            idle: match random.u8(0..8) {
                0 => Idle::Spin,
                1..3 => Idle::SpinThenPark(short(random)),
                _ => Idle::Park,
            },
            placement: if random.bool() { Placement::Spread } else { Placement::Kernel },
            fails: (random.u8(0..6) == 0).then(|| random.u64(2..10)),
            producers: random.usize(1..=3),
            calls: random.u32(0..150),
            end: end(random),
        }
    }

    /// The pool's builder; `random` says which threads can't be started.
    pub(crate) fn builder(&self, random: Rng) -> Builder {
        let mut builder = Pool::builder()
            .threads(self.threads.clone())
            .spare_threads(self.spare)
            .growth(self.growth)
            .keep_alive(self.keep_alive)
            .allow_core_timeout(self.core_timeout)
            .queueing(self.queueing)
            .order(self.order)
            .injector_interval(self.interval)
            .idle(self.idle)
            .placement(self.placement);
        if self.prestart {
            builder = builder.prestart();
        }
        let Some(fails) = self.fails else { return builder };
        let random = Mutex::new(random);
        builder.spawner(move |thread| match random.lock().unwrap().u64(0..fails) {
            0 => Err(io::Error::other("expected: no thread today")),
            _ => thread.start(),
        })
    }
}
