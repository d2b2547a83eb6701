//! Operations whose parts borrow.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use brigade::JoinHandle;
use fastrand::Rng;

use crate::act::act;
use crate::world::{Output, World};

type Kept = Vec<JoinHandle<Output>>;

pub(crate) fn join(world: &World, random: &mut Rng, _: &mut Kept) {
    let (mut one, mut two) = (random.fork(), random.fork());
    let inside = world.inside();
    if let Err(reason) =
        world.pool.install(|| brigade::join(|| act(&inside, &mut one), || act(&inside, &mut two)))
    {
        world.refused(reason, ());
    }
}

pub(crate) fn scope(world: &World, random: &mut Rng, _: &mut Kept) {
    let parts: Vec<Rng> = (0..random.u8(0..4)).map(|_| random.fork()).collect();
    let count = parts.len() as u32;
    let done = AtomicU32::new(0);
    let inside = world.inside();
    let result = world.pool.scope(|scope| {
        for mut part in parts {
            let (done, inside) = (&done, &inside);
            scope.execute(move || {
                act(inside, &mut part);
                done.fetch_add(1, Relaxed);
            });
        }
    });
    match result {
        // The end of the pool may have dropped some of them.
        Ok(()) if world.loses() => {}
        Ok(()) => assert_eq!(done.load(Relaxed), count, "a scope ends before its jobs"),
        Err(reason) => world.refused(reason, ()),
    }
}

/// Its body stays on this thread, and joins its jobs.
pub(crate) fn in_place_scope(world: &World, random: &mut Rng, _: &mut Kept) {
    let parts: Vec<Rng> = (0..random.u8(0..4)).map(|_| random.fork()).collect();
    let inside = world.inside();
    let mut own = random.fork();
    let waits = random.bool();
    let result = world.pool.in_place_scope(|scope| {
        let handles: Vec<_> = parts
            .into_iter()
            .map(|mut part| {
                let inside = &inside;
                scope.submit(move || {
                    act(inside, &mut part);
                    inside.output(&mut part)
                })
            })
            .collect();
        act(&inside, &mut own);
        if waits {
            handles.into_iter().for_each(|handle| world.ended(handle.join(), false));
        }
    });
    if let Err(reason) = result {
        world.refused(reason, ());
    }
}

pub(crate) fn install(world: &World, random: &mut Rng, _: &mut Kept) {
    let mut own = random.fork();
    let inside = world.inside();
    match world.pool.install(|| {
        act(&inside, &mut own);
        7
    }) {
        Ok(seven) => assert_eq!(seven, 7),
        Err(reason) => world.refused(reason, ()),
    }
}

pub(crate) fn loops(world: &World, random: &mut Rng, _: &mut Kept) {
    if !world.is_sure() {
        return;
    }
    let length = random.usize(0..6);
    let grain = random.usize(1..3);
    let panics = random.u8(0..8) == 0;
    let calls: Vec<AtomicU32> = (0..length).map(|_| AtomicU32::new(0)).collect();
    let sum = world.pool.enter(|| {
        brigade::par_for(0..length, grain, |index| {
            calls[index].fetch_add(1, Relaxed);
            if panics && index == 3 {
                crate::world::panic();
            }
        });
        brigade::map_reduce(0..length, grain, |index| index, |one, two| one + two)
    });
    assert!(calls.iter().all(|calls| calls.load(Relaxed) == 1), "not each of a loop once");
    assert_eq!(sum, (length > 0).then(|| (0..length).sum()));
}
