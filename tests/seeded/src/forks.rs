//! Operations whose parts borrow.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::act::act;
use crate::verb::{Body, Verb};
use crate::world::World;

pub(crate) fn join(world: &World, one: &[Verb], two: &[Verb]) {
    let inside = world.inside();
    let both = || brigade::join(|| act(&inside, one), || act(&inside, two));
    if let Err(reason) = world.pool.install(both) {
        world.refused(reason, ());
    }
}

pub(crate) fn scope(world: &World, parts: &[Vec<Verb>]) {
    let done = AtomicU32::new(0);
    let inside = world.inside();
    let result = world.pool.scope(|scope| {
        for part in parts {
            let (done, inside) = (&done, &inside);
            scope.execute(move || {
                act(inside, part);
                done.fetch_add(1, Relaxed);
            });
        }
    });
    match result {
        // The end of the pool may have dropped some of them.
        Ok(()) if world.loses() => {}
        Ok(()) => {
            assert_eq!(done.load(Relaxed) as usize, parts.len(), "a scope ends before its jobs");
        }
        Err(reason) => world.refused(reason, ()),
    }
}

/// Its body stays on this thread, and joins its jobs.
pub(crate) fn in_place_scope(world: &World, jobs: &[Body], own: &[Verb], waits: bool) {
    let inside = world.inside();
    let result = world.pool.in_place_scope(|scope| {
        let submit = |body| {
            let inside = &inside;
            scope.submit(move || {
                inside.run(body);
                inside.output(body.1)
            })
        };
        let handles: Vec<_> = jobs.iter().map(submit).collect();
        act(&inside, own);
        if waits {
            handles.into_iter().for_each(|handle| world.ended(handle.join(), false));
        }
    });
    if let Err(reason) = result {
        world.refused(reason, ());
    }
}

pub(crate) fn install(world: &World, verbs: &[Verb]) {
    let inside = world.inside();
    let seven = || {
        act(&inside, verbs);
        7
    };
    match world.pool.install(seven) {
        Ok(seven) => assert_eq!(seven, 7),
        Err(reason) => world.refused(reason, ()),
    }
}

pub(crate) fn loops(world: &World, length: u8, grain: u8, panics: bool) {
    if !world.is_sure() {
        return;
    }
    let (length, grain) = (usize::from(length), usize::from(grain));
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
