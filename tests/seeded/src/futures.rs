//! Operations with futures.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use brigade::{Cause, Missed, TaskSet, WhenFull, time};
use brigade_sync::time as clock;

use crate::act::{Kept, act, note};
use crate::io;
use crate::machine::number;
use crate::verb::{Body, End, Micros, Panics, Verb};
use crate::world::{Output, World, micros, panic};

pub(crate) fn spawn(world: &World, body: &Body, end: End, kept: &mut Kept) {
    match world.pool.try_spawn(future(world, body)) {
        Ok(handle) => kept.keep(world, handle, end),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn block_on(world: &World, body: &Body) {
    if world.is_sure() {
        drop(world.pool.block_on(future(world, body)));
    }
}

pub(crate) fn reserve(
    world: &World,
    patience: Option<Micros>,
    then: Option<&(Body, End)>,
    kept: &mut Kept,
) {
    if world.depth() > 0 || !world.is_sure() {
        return;
    }
    let room = world.pool.job().reserve();
    let reserved = world.pool.block_on(async {
        match patience {
            None => Ok(room.await),
            Some(patience) => time::timeout(micros(patience), room).await,
        }
    });
    if let (Ok(Ok(_)), Some((body, _)), true) = (&reserved, then, world.loses()) {
        // Beside reserved room, which may be all.
        for full in [WhenFull::DropOldest, WhenFull::DropNewest] {
            let terms = world.pool.job().when_full(full);
            if let Err(rejected) = terms.execute(world.job(body).1) {
                world.refused(rejected.reason(), rejected.into_inner());
            }
        }
    }
    match (reserved, then) {
        // No room in that time.
        (Err(_), _) => {}
        (Ok(Err(reason)), _) => world.refused(reason, ()),
        // Leaves the room to others.
        (Ok(Ok(reserved)), None) => drop(reserved),
        (Ok(Ok(reserved)), Some((body, End::Detached))) => {
            let (claim, run) = world.job(body);
            match reserved.execute(run) {
                Ok(()) => claim.must_run(),
                Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
            }
        }
        (Ok(Ok(reserved)), Some((body, end))) => match reserved.submit(world.body(body)) {
            Ok(handle) => kept.keep(world, handle, *end),
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
        Self { thread: number(), _not_send: Rc::new(()) }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert_eq!(number(), self.thread, "a local future on another thread");
    }
}

pub(crate) fn spawn_local(world: &World, body: &Body, end: End, kept: &mut Kept) {
    if world.is_here() && !world.is_threadless() {
        kept.keep(world, brigade::spawn_local(local(world, body)), end);
    }
}

/// A future that stays on its worker.
pub(crate) fn local(world: &World, body: &Body) -> impl Future<Output = Output> + use<> {
    let (bound, future) = (Bound::here(), future(world, body));
    async move {
        let output = future.await;
        assert_eq!(bound.thread, number());
        output
    }
}

/// A future that does one operation after the other.
pub(crate) fn future(world: &World, body: &Body) -> Pin<Box<dyn Future<Output = Output> + Send>> {
    let token = world.ledger.token("a future", body.1);
    let (world, Body(verbs, panics)) = (world.inside(), body.clone());
    Box::pin(async move {
        token.runs();
        for verb in &verbs {
            note(|| format!("polls {} of a future, at depth {}", verb.name(), world.depth()));
            world.sees_its_value();
            turn(&world, verb).await;
            world.sees_its_value();
        }
        if panics == Panics::AtTheEnd {
            panic();
        }
        drop(token);
        world.output(panics)
    })
}

/// Does an operation of a future.
async fn turn(world: &World, verb: &Verb) {
    match verb {
        Verb::YieldNow => brigade::yield_now().await,
        Verb::AsyncSleep(wanted) => {
            let (begun, wanted) = (clock::now(), micros(*wanted));
            time::sleep(wanted).await;
            assert!(clock::since(begun) >= wanted, "early");
        }
        Verb::Timeout(limit, inner) => {
            if let Ok(output) = time::timeout(micros(*limit), future(world, inner)).await {
                world.ended(Ok(output), None);
            }
        }
        Verb::SubmitAwait(body) => match world.pool.try_submit(world.body(body)) {
            Ok(handle) => world.ended(handle.await, None),
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
        Verb::SpawnAwait(body, is_cancelled) => match world.pool.try_spawn(future(world, body)) {
            Ok(handle) => {
                if *is_cancelled {
                    handle.cancel_handle().cancel();
                }
                world.ended(handle.await, is_cancelled.then_some(Cause::Asked));
            }
            Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
        },
        Verb::Act(verbs) => act(world, verbs),
        Verb::TalksAwait(link, bytes) => io::talk::talk(world, *link, *bytes).await,
        Verb::IoAwait(transfer) => io::pass(world, transfer).await,
        Verb::Interval(ticks) => {
            let mut interval = time::interval(micros(500)).missed(Missed::Delay);
            for _ in 0..*ticks {
                interval.tick().await;
            }
        }
        Verb::ReserveAwait(body) => match world.pool.job().reserve().await {
            Ok(reserved) => match reserved.spawn(future(world, body)) {
                Ok(handle) => world.ended(handle.await, None),
                Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
            },
            Err(reason) => world.refused(reason, ()),
        },
        Verb::SetAwait(bodies) => {
            let mut set = TaskSet::new(world.pool);
            for body in bodies {
                _ = set.try_spawn(future(world, body));
            }
            while let Some(result) = set.join_next_async().await {
                world.ended(result, None);
            }
        }
        // An operation that a thread may have as well.
        verb => act(world, std::slice::from_ref(verb)),
    }
}
