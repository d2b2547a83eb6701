//! Operations whose parts borrow.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use brigade::{Cause, MapError, ScopedJoinHandle};

use crate::act::act;
use crate::futures::future;
use crate::verb::{Body, Verb};
use crate::world::World;

/// A thread outside takes part, if the pool is sure not to be closed.
pub(crate) fn join(world: &World, one: &[Verb], two: &[Verb]) {
    let inside = world.inside();
    let both = || brigade::join(|| act(&inside, one), || act(&inside, two));
    if world.is_sure() && world.depth() == 0 && brigade::current_worker().is_none() {
        world.pool.enter(both);
    } else if let Err(reason) = world.pool.install(both) {
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
                inside.is_current();
                inside.run(body);
                inside.output(body.1)
            })
        };
        let handles: Vec<_> = jobs.iter().map(submit).collect();
        act(&inside, own);
        if waits {
            for ended in handles.into_iter().map(ScopedJoinHandle::join) {
                let has_run = ended.as_ref().err().is_none_or(|error| !error.is_cancelled());
                assert!(has_run, "a job of a scope has not run");
                world.ended(ended, None);
            }
        }
    });
    if let Err(reason) = result {
        world.refused(reason, ());
    }
}

/// Futures, and jobs that add a job.
pub(crate) fn mixed_scope(world: &World, futures: &[Body], jobs: &[Vec<Verb>], is_cancelled: bool) {
    let inside = world.inside();
    let result = world.pool.scope(|scope| {
        let spawn = |body| scope.spawn(future(&inside, body));
        let handles: Vec<_> = futures.iter().map(spawn).collect();
        for job in jobs {
            let inside = &inside;
            scope.execute_with(move |scope| {
                act(inside, job);
                scope.execute(|| inside.is_current());
            });
        }
        if is_cancelled {
            scope.cancel();
        }
        handles
            .into_iter()
            .for_each(|handle| world.ended(handle.join(), is_cancelled.then_some(Cause::Asked)));
    });
    if let Err(reason) = result {
        world.refused(reason, ());
    }
}

/// On a worker both use the worker's pool, elsewhere the current pool.
pub(crate) fn free_scopes(world: &World, inner: &[Verb], in_place: &[Verb]) {
    // On a worker they are scopes of the worker's pool.
    let is_outside = world.depth() == 0 && brigade::current_worker().is_none();
    if !world.is_sure() || !(world.is_here() || is_outside) {
        return;
    }
    let inside = world.inside();
    let here = world.is_here();
    let both = || {
        brigade::scope(|scope| {
            let inside = &inside;
            scope.execute(move || act(inside, inner));
        });
        brigade::in_place_scope(|scope| {
            let inside = &inside;
            scope.execute(move || {
                inside.is_current();
                act(inside, in_place);
            });
        });
    };
    if here { both() } else { world.pool.enter(both) }
}

pub(crate) fn install(world: &World, verbs: &[Verb]) {
    let inside = world.inside();
    let seven = || {
        inside.is_current();
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
        let mut bytes = vec![1_u8; length];
        brigade::par_chunks_mut(&mut bytes, grain, |_, chunk| chunk.fill(2));
        brigade::par_chunks(&bytes, grain, |_, chunk| assert!(chunk.iter().all(|byte| *byte == 2)));
        let states = AtomicU32::new(0);
        let init = || states.fetch_add(1, Relaxed);
        brigade::par_for_with(&bytes, grain, init, |state, _| {
            assert!(*state < states.load(Relaxed))
        });
        assert!(states.load(Relaxed) as usize <= length, "a state without an item");
        let failed = brigade::try_par_for(0..length, grain, |index| match index {
            2.. => Err(index),
            _ => Ok(()),
        });
        assert_eq!(failed.is_err(), length > 2);
        let twos = brigade::par_map(bytes.chunks(2), grain, |chunk| chunk.len());
        assert_eq!(twos.len(), length.div_ceil(2));
        brigade::map_reduce(0..length, grain, |index| index, |one, two| one + two)
    });
    assert!(calls.iter().all(|calls| calls.load(Relaxed) == 1), "not each of a loop once");
    assert_eq!(sum, (length > 0).then(|| (0..length).sum()));
}

/// Whether the pool did not accept a job, or cancelled it.
fn has_not_run<T>(error: &MapError<T>) -> bool {
    match error {
        MapError::Job(error) => error.is_cancelled(),
        _ => true,
    }
}

/// Takes some results of a map in order, and of one that is not.
pub(crate) fn maps(world: &World, length: u8, window: u8, taken: u8) {
    let inside = world.inside();
    let call = move |index: u8| {
        inside.is_current();
        inside.sees_its_value();
        index
    };
    let mut results = world.pool.map(0..length, window.into(), call.clone());
    for index in 0..length.min(taken) {
        match results.next() {
            Some(Ok(result)) => assert_eq!(result, index, "a map is not in order"),
            Some(Err(error)) => assert!(has_not_run(&error), "{error}"),
            None => panic!("a map has lost a result"),
        }
    }
    drop(results);
    let unordered = world.pool.map_unordered(0..length, window.into(), call);
    let left = unordered.skip(taken.into()).inspect(|result| {
        assert!(result.as_ref().err().is_none_or(has_not_run), "a map's job has an error");
    });
    assert_eq!(left.count(), length.saturating_sub(taken).into());
}
