//! Operations with futures.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use brigade::{JoinHandle, time};
use brigade_sync::{seeded, time as clock};
use fastrand::Rng;

use crate::act::{act, note};
use crate::io;
use crate::jobs::keep;
use crate::world::{Output, World, millis, panic};

type Kept = Vec<JoinHandle<Output>>;

pub(crate) fn spawn(world: &World, random: &mut Rng, kept: &mut Kept) {
    match world.pool.try_spawn(future(world, random)) {
        Ok(handle) => keep(world, random, kept, handle),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn block_on(world: &World, random: &mut Rng, _: &mut Kept) {
    if world.is_sure() {
        drop(world.pool.block_on(future(world, random)));
    }
}

pub(crate) fn reserve(world: &World, random: &mut Rng, kept: &mut Kept) {
    if world.depth() > 0 || !world.is_sure() {
        return;
    }
    let room = world.pool.job().reserve();
    let patience = millis(random);
    let reserved = world.pool.block_on(async {
        if random.bool() { Ok(room.await) } else { time::timeout(patience, room).await }
    });
    match reserved {
        // No room in that time.
        Err(_) => {}
        Ok(Err(reason)) => world.refused(reason, ()),
        // Leaves the room to others.
        Ok(Ok(reserved)) if random.u8(0..4) == 0 => drop(reserved),
        Ok(Ok(reserved)) => match reserved.submit(world.body(random)) {
            Ok(handle) => keep(world, random, kept, handle),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
    }
}

/// Is used and dropped on the thread that has made it.
struct Bound {
    thread: usize,
    _not_send: Rc<()>,
}

impl Bound {
    fn here() -> Self {
        Self { thread: seeded::number(), _not_send: Rc::new(()) }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert_eq!(seeded::number(), self.thread, "a local future on another thread");
    }
}

/// A future that stays on its worker.
pub(crate) fn local(world: &World, random: &mut Rng) -> impl Future<Output = Output> + use<> {
    let token = world.ledger.token("a local future", random);
    let (world, mut random) = (world.inside(), random.fork());
    let bound = Bound::here();
    async move {
        token.runs();
        for _ in 0..random.u8(0..3) {
            match random.u8(0..3) {
                0 => brigade::yield_now().await,
                1 => time::sleep(millis(&mut random)).await,
                _ => act(&world.inside(), &mut random),
            }
            assert_eq!(bound.thread, seeded::number());
        }
        if random.u8(0..16) == 0 {
            panic();
        }
        drop(token);
        world.output(&mut random)
    }
}

pub(crate) fn spawn_local(world: &World, random: &mut Rng, kept: &mut Kept) {
    if !world.is_here() {
        return;
    }
    kept.push(brigade::spawn_local(local(world, random)));
}

/// A future with random turns.
pub(crate) fn future(
    world: &World,
    random: &mut Rng,
) -> Pin<Box<dyn Future<Output = Output> + Send>> {
    let token = world.ledger.token("a future", random);
    let (world, mut random) = (world.inside(), random.fork());
    Box::pin(async move {
        token.runs();
        for _ in 0..random.u8(0..4) {
            if !world.has_fuel() {
                break;
            }
            turn(&world, &mut random).await;
        }
        if random.u8(0..16) == 0 && world.depth() > 1 {
            panic();
        }
        drop(token);
        world.output(&mut random)
    })
}

/// Takes a turn of a future.
async fn turn(world: &World, random: &mut Rng) {
    let turn = random.u8(0..12);
    note(|| format!("polls turn {turn} of a future, at depth {}", world.depth()));
    match turn {
        0 | 1 => brigade::yield_now().await,
        2 => {
            let (begun, wanted) = (clock::now(), millis(random));
            time::sleep(wanted).await;
            assert!(clock::since(begun) >= wanted, "early");
        }
        3 => {
            let inner = future(world, random);
            if let Ok(output) = time::timeout(millis(random), inner).await {
                world.ended(Ok(output), false);
            }
        }
        4 => match world.pool.try_submit(world.body(random)) {
            Ok(handle) => world.ended(handle.await, false),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
        5 => match world.pool.try_spawn(future(world, random)) {
            Ok(handle) if random.bool() => {
                handle.cancel_handle().cancel();
                world.ended(handle.await, true);
            }
            Ok(handle) => world.ended(handle.await, false),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
        6 => act(world, random),
        10 => io::pass(world, random).await,
        7 => {
            let mut interval = time::interval(Duration::from_micros(500));
            for _ in 0..random.u8(1..4) {
                interval.tick().await;
            }
        }
        8 => match world.pool.job().reserve().await {
            Ok(reserved) => match reserved.spawn(future(world, random)) {
                Ok(handle) => world.ended(handle.await, false),
                Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
            },
            Err(reason) => world.refused(reason, ()),
        },
        9 => {
            let mut set = brigade::TaskSet::new(world.pool);
            for _ in 0..random.u8(0..4) {
                _ = set.try_spawn(future(world, random));
            }
            while let Some(result) = set.join_next_async().await {
                world.ended(result, false);
            }
        }
        _ => brigade::blocking(|| clock::sleep(millis(random))),
    }
}
