//! Operations with closures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use brigade::{Cause, JoinError, Priority, TaskSet};
use brigade_sync::time;

use crate::act::Kept;
use crate::futures::future;
use crate::verb::{Body, Drain, End, Panics, Shares, Tasks, Terms, Then, Work};
use crate::world::{World, micros};

pub(crate) fn execute(world: &World, body: &Body) {
    let (claim, run) = world.job(body);
    match world.pool.try_execute(run) {
        Ok(()) => claim.must_run(),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn submit(world: &World, body: &Body, end: End, kept: &mut Kept) {
    let (claim, run) = world.claimed(body);
    match world.pool.try_submit(run) {
        Ok(handle) => {
            claim.is_accepted();
            kept.keep(world, handle, end);
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

/// By the verbs that wait for room, and do not return a closure: where the pool accepts all.
pub(crate) fn patiently(
    world: &World,
    run: &Body,
    submitted: &(Body, End),
    spawned: &(Body, End),
    kept: &mut Kept,
) {
    if !world.is_sure() || !world.accepts() || (world.depth() > 0 && world.is_discarded) {
        return;
    }
    let (claim, run) = world.job(run);
    world.pool.execute(run);
    claim.must_run();
    kept.keep(world, world.pool.submit(world.body(&submitted.0)), submitted.1);
    kept.keep(world, world.pool.spawn(future(world, &spawned.0)), spawned.1);
}

/// In turns with all jobs of the view that the pool's jobs share.
pub(crate) fn limited(world: &World, run: &Body, work: &Work, end: End, kept: &mut Kept) {
    let (claim, run) = world.job(run);
    match world.limited.try_execute(world.alone(run)) {
        Ok(()) => claim.must_run(),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
    let submitted = match work {
        Work::Closure(body) => world
            .limited
            .try_submit(world.alone(world.body(body)))
            .map_err(|rejected| world.refused(rejected.reason(), rejected.into_inner())),
        Work::Async(body) => world
            .limited
            .try_spawn(future(world, body))
            .map_err(|rejected| world.refused(rejected.reason(), rejected.into_inner())),
    };
    if let Ok(handle) = submitted {
        kept.keep(world, handle, end);
    }
}

pub(crate) fn execute_batch(world: &World, bodies: &[Body]) {
    let (claims, jobs): (Vec<_>, Vec<_>) = bodies.iter().map(|body| world.job(body)).unzip();
    match world.pool.job().execute_batch(jobs) {
        Ok(()) => claims.iter().for_each(|claim| claim.must_run()),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn submit_batch(world: &World, jobs: &[(Body, End)], kept: &mut Kept) {
    let bodies: Vec<_> = jobs.iter().map(|(body, _)| world.body(body)).collect();
    match world.pool.job().submit_batch(bodies) {
        Ok(handles) => {
            let ends = jobs.iter().map(|(_, end)| *end);
            handles.into_iter().zip(ends).for_each(|(handle, end)| kept.keep(world, handle, end));
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn dispatch(world: &World, bodies: &[Body], runs: bool) {
    let (claims, jobs): (Vec<_>, Vec<_>) = bodies.iter().map(|body| world.job(body)).unzip();
    let left: Vec<_> = world.pool.job().dispatch(jobs).collect();
    // The first of them have been handed over.
    claims.iter().take(claims.len() - left.len()).for_each(|claim| claim.must_run());
    if runs {
        left.into_iter().for_each(|job| job());
    }
}

pub(crate) fn class(world: &World, class: &Terms, kept: &mut Kept) {
    let priority = [Priority::High, Priority::Normal, Priority::Low];
    let mut terms = world.pool.job().priority(priority[usize::from(class.priority)]);
    if let Some(deadline) = class.deadline {
        terms = terms.deadline(time::now() + micros(deadline));
    }
    if let Some(full) = class.full {
        terms = terms.when_full(full.into());
    }
    if class.is_named {
        terms = terms.name("named");
    }
    let mut inside = world.clone();
    if let Some(number) = class.value {
        let (valued, value) = world.with_value(number);
        inside = valued;
        terms = terms.with(value);
    }
    // It is cancelled if it is late.
    let is_certain = class.deadline.is_none();
    let submitted = match (&class.work, class.end) {
        (Work::Closure(body), None) => {
            let (claim, run) = inside.job(body);
            return match terms.execute(run) {
                Ok(()) if is_certain => claim.must_run(),
                Ok(()) => {}
                Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
            };
        }
        (Work::Closure(body), Some(_)) => terms
            .submit(inside.body(body))
            .map_err(|rejected| world.refused(rejected.reason(), rejected.into_inner())),
        (Work::Async(body), _) => terms
            .spawn(future(&inside, body))
            .map_err(|rejected| world.refused(rejected.reason(), rejected.into_inner())),
    };
    match (submitted, class.end) {
        (Ok(handle), Some(end)) if is_certain => kept.keep(world, handle, end),
        (Ok(handle), _) => world.wait(handle, class.deadline.map(|_| Cause::Deadline)),
        (Err(()), _) => {}
    }
}

pub(crate) fn on_worker(world: &World, index: u8, body: &Body) {
    match world.pool.job().on_worker(index.into()).submit(world.body(body)) {
        // It is cancelled if its thread can't be started.
        Ok(handle) => world.wait(handle, Some(Cause::Ended)),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

/// Where the pool accepts it: it has no verb that returns the closure.
pub(crate) fn broadcast(world: &World, shares: Shares, panics: Panics) {
    if !world.is_sure() || (world.depth() > 0 && (world.is_discarded || !world.is_here())) {
        return;
    }
    let token = world.ledger.token("a broadcast", panics);
    let send = || world.pool.broadcast(move |index| _ = (&token, index));
    let sent = catch_unwind(AssertUnwindSafe(send));
    let Ok(mut handles) = sent else { panic!("a broadcast panics in its caller") };
    match shares {
        Shares::CancelEach => handles.iter_mut().for_each(|handle| _ = handle.cancel()),
        Shares::DropEach => drop(handles),
        Shares::JoinEach => handles.into_iter().for_each(|share| match share.join() {
            Ok(()) => {}
            // The drop of the token may panic.
            Err(error) => assert!(error.is_panic() || world.loses(), "{error:?}"),
        }),
    }
}

/// On the pool of this thread.
pub(crate) fn free(
    world: &World,
    locally: bool,
    run: &Body,
    body: &Body,
    end: End,
    kept: &mut Kept,
) {
    let (claim, run) = world.job(run);
    // On a worker of another pool, the job would be that pool's.
    let locally = locally && world.is_here();
    let body = world.body(body);
    world.pool.enter(|| {
        let sent =
            if locally { brigade::try_execute_locally(run) } else { brigade::try_execute(run) };
        match sent {
            Ok(()) => claim.must_run(),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        }
        match brigade::try_submit(body) {
            Ok(handle) => kept.keep(world, handle, end),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        }
    });
}

pub(crate) fn set(world: &World, Tasks { limit, deadline, tasks, then, drain }: &Tasks) {
    let mut set = TaskSet::new(world.pool);
    if let Some(limit) = limit {
        set = set.limit((*limit).into());
    }
    if let Some(deadline) = deadline {
        set = set.deadline(time::now() + micros(*deadline));
    }
    for (count, task) in tasks.iter().enumerate() {
        assert_eq!(set.len(), count);
        let late = time::now() + Duration::from_secs(3600);
        let accepted = match task {
            Work::Closure(body) if count % 2 == 0 => set.try_submit(world.body(body)).is_ok(),
            Work::Async(body) if count % 2 == 0 => set.try_spawn(future(world, body)).is_ok(),
            Work::Closure(body) => {
                let (world, value) = world.with_value(count as u8);
                let job = set.job().priority(Priority::High).deadline(late).with(value);
                job.submit(world.body(body)).is_ok()
            }
            Work::Async(body) => {
                set.job().name("named").deadline(late).spawn(future(world, body)).is_ok()
            }
        };
        if !accepted {
            break;
        }
    }
    match then {
        Then::KeepAll => {}
        Then::CancelAll => set.cancel_all(),
        Then::CancelFirst => _ = set.cancel(0),
        Then::DetachAll => set.detach_all(),
    }
    let mut next = || match drain {
        Drain::JoinNext => set.join_next(),
        Drain::WaitAll => {
            set.wait_all();
            set.try_join_next()
        }
        Drain::WaitAllTimeout(time) => {
            set.wait_all_timeout(micros(*time));
            set.join_next()
        }
        Drain::JoinNextTimeout(time) => set.join_next_timeout(micros(*time)),
    };
    while let Some(result) = next() {
        let is_late = matches!(result, Err(JoinError::Cancelled(Cause::Deadline)));
        assert!(!is_late || deadline.is_some(), "late without a deadline");
        world.ended(result, Some(if is_late { Cause::Deadline } else { Cause::Asked }));
    }
}
