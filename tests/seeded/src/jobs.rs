//! Operations with closures.

use brigade::{JoinHandle, Priority, TaskSet};
use brigade_sync::time;
use fastrand::Rng;

use crate::futures::future;
use crate::world::{Output, World, millis};

type Kept = Vec<JoinHandle<Output>>;

/// Keeps a handle, or waits for it.
pub(crate) fn keep(world: &World, random: &mut Rng, kept: &mut Kept, handle: JoinHandle<Output>) {
    if random.bool() {
        kept.push(handle);
    } else {
        world.wait(handle, false);
    }
}

pub(crate) fn execute(world: &World, random: &mut Rng, _: &mut Kept) {
    let (claim, run) = world.job(random);
    match world.pool.try_execute(run) {
        Ok(()) => claim.must_run(),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn submit(world: &World, random: &mut Rng, kept: &mut Kept) {
    match world.pool.try_submit(world.body(random)) {
        Ok(handle) => keep(world, random, kept, handle),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn batch(world: &World, random: &mut Rng, kept: &mut Kept) {
    if random.bool() {
        let (claims, jobs): (Vec<_>, Vec<_>) =
            (0..random.u8(0..5)).map(|_| world.job(random)).unzip();
        return match world.pool.job().execute_batch(jobs) {
            Ok(()) => claims.iter().for_each(|claim| claim.must_run()),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        };
    }
    let bodies: Vec<_> = (0..random.u8(0..5)).map(|_| world.body(random)).collect();
    match world.pool.job().submit_batch(bodies) {
        Ok(handles) => {
            handles.into_iter().for_each(|handle| keep(world, random, kept, handle));
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn dispatch(world: &World, random: &mut Rng, _: &mut Kept) {
    let (claims, jobs): (Vec<_>, Vec<_>) = (0..random.u8(0..4)).map(|_| world.job(random)).unzip();
    let left: Vec<_> = world.pool.job().dispatch(jobs).collect();
    // The first of them have been handed over.
    claims.iter().take(claims.len() - left.len()).for_each(|claim| claim.must_run());
    if random.bool() {
        left.into_iter().for_each(|job| job());
    }
}

pub(crate) fn class(world: &World, random: &mut Rng, kept: &mut Kept) {
    let priority = [Priority::High, Priority::Normal, Priority::Low][random.usize(0..3)];
    let mut terms = world.pool.job().priority(priority);
    let mut is_certain = true;
    if random.u8(0..3) == 0 {
        terms = terms.deadline(time::now() + millis(random));
        is_certain = false;
    }
    if random.bool() {
        terms = terms.name("named");
    }
    match random.u8(0..3) {
        0 => match terms.submit(world.body(random)) {
            Ok(handle) if is_certain => keep(world, random, kept, handle),
            Ok(handle) => world.wait(handle, true),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
        1 => match terms.spawn(future(world, random)) {
            Ok(handle) if is_certain => keep(world, random, kept, handle),
            Ok(handle) => world.wait(handle, true),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
        _ => {
            let (claim, run) = world.job(random);
            match terms.execute(run) {
                Ok(()) if is_certain => claim.must_run(),
                Ok(()) => {}
                Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
            }
        }
    }
}

pub(crate) fn on_worker(world: &World, random: &mut Rng, _: &mut Kept) {
    match world.pool.job().on_worker(random.usize(0..3)).submit(world.body(random)) {
        // It is cancelled if its thread can't be started.
        Ok(handle) => world.wait(handle, true),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

/// Where the pool accepts it: it has no verb that returns the closure.
pub(crate) fn broadcast(world: &World, random: &mut Rng, _: &mut Kept) {
    if !world.is_sure() || (world.depth() > 0 && (world.is_discarded || !world.is_here())) {
        return;
    }
    let token = world.ledger.token("a broadcast", random);
    let mut handles = world.pool.broadcast(move |index| _ = (&token, index));
    match random.u8(0..3) {
        0 => handles.iter_mut().for_each(|handle| _ = handle.cancel()),
        1 => drop(handles),
        _ => handles.into_iter().for_each(|share| match share.join() {
            Ok(()) => {}
            // The drop of the token may panic.
            Err(error) => assert!(error.is_panic() || world.loses(), "{error:?}"),
        }),
    }
}

/// On the pool of this thread.
pub(crate) fn free(world: &World, random: &mut Rng, kept: &mut Kept) {
    let (claim, run) = world.job(random);
    // On a worker of another pool, the job would be that pool's.
    let locally = random.bool() && world.is_here();
    let body = world.body(random);
    world.pool.enter(|| {
        let sent =
            if locally { brigade::try_execute_locally(run) } else { brigade::try_execute(run) };
        match sent {
            Ok(()) => claim.must_run(),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        }
        match brigade::try_submit(body) {
            Ok(handle) => kept.push(handle),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        }
    });
}

pub(crate) fn set(world: &World, random: &mut Rng, _: &mut Kept) {
    let mut set = TaskSet::new(world.pool);
    if random.bool() {
        set = set.limit(random.usize(1..3));
    }
    for count in 0..random.usize(0..4) {
        assert_eq!(set.len(), count);
        let accepted = if random.bool() {
            set.try_submit(world.body(random)).is_ok()
        } else {
            set.try_spawn(future(world, random)).is_ok()
        };
        if !accepted {
            break;
        }
    }
    match random.u8(0..4) {
        0 => set.cancel_all(),
        1 => set.detach_all(),
        _ => {}
    }
    if random.u8(0..4) == 0 {
        while let Some(result) = set.join_next_timeout(millis(random)) {
            world.ended(result, true);
        }
    } else if random.u8(0..4) == 0 {
        set.wait_all();
        while let Some(result) = set.try_join_next() {
            world.ended(result, true);
        }
    } else {
        while let Some(result) = set.join_next() {
            world.ended(result, true);
        }
    }
}
