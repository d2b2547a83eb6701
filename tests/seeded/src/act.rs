//! The operations of a thread, a job or a part, and then the end of their handles.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use brigade::JoinHandle;

use crate::machine::number;
use crate::verb::{End, Verb};
use crate::world::{Output, World};
use crate::{forks, futures, io, jobs, pools, timers};

/// Whether programs print their operations.
static SAYS: AtomicBool = AtomicBool::new(false);

/// Has programs print their operations.
pub(crate) fn say() {
    SAYS.store(true, Relaxed);
}

/// Prints an action of the calling thread.
pub(crate) fn note(text: impl FnOnce() -> String) {
    if SAYS.load(Relaxed) {
        println!("thread {} {}", number(), text());
    }
}

/// Handles that are kept until the operations beside them have ended, each with its end.
#[derive(Default)]
pub(crate) struct Kept(Vec<(JoinHandle<Output>, End)>);

impl Kept {
    /// Keeps a handle, or waits for it.
    pub(crate) fn keep(&mut self, world: &World, handle: JoinHandle<Output>, end: End) {
        match end {
            End::JoinedAtOnce => world.wait(handle, None),
            end => self.0.push((handle, end)),
        }
    }
}

/// Says when an operation has ended.
struct Said<'a>(&'a Verb);

impl Drop for Said<'_> {
    fn drop(&mut self) {
        note(|| format!("has ended {}", self.0.name()));
    }
}

/// Runs some operations.
pub(crate) fn act(world: &World, verbs: &[Verb]) {
    let mut kept = Kept::default();
    world.sees_its_value();
    for verb in verbs {
        note(|| format!("begins {}, at depth {}", verb.name(), world.depth()));
        let _said = Said(verb);
        call(world, verb, &mut kept);
        world.sees_its_value();
    }
    for (handle, end) in kept.0 {
        note(|| format!("ends a handle: {end:?}"));
        world.end(handle, end);
    }
}

fn call(world: &World, verb: &Verb, kept: &mut Kept) {
    match verb {
        Verb::Yield => brigade_sync::thread::yield_now(),
        Verb::Sleep(time) => timers::sleep(*time),
        Verb::BlockingSleep(time) => timers::blocking_sleep(*time),
        Verb::Blocking(verbs) => brigade::blocking(|| act(&world.inside(), verbs)),
        Verb::Execute(body) => jobs::execute(world, body),
        Verb::Submit(body, end) => jobs::submit(world, body, *end, kept),
        Verb::Patiently(run, submitted, spawned) => {
            jobs::patiently(world, run, submitted, spawned, kept);
        }
        Verb::ExecuteBatch(bodies) => jobs::execute_batch(world, bodies),
        Verb::SubmitBatch(jobs) => jobs::submit_batch(world, jobs, kept),
        Verb::Dispatch(bodies, runs) => jobs::dispatch(world, bodies, *runs),
        Verb::Class(class) => jobs::class(world, class, kept),
        Verb::OnWorker(index, body) => jobs::on_worker(world, *index, body),
        Verb::Broadcast(shares, panics) => jobs::broadcast(world, *shares, *panics),
        Verb::Free(locally, run, body, end) => {
            jobs::free(world, *locally, run, body, *end, kept);
        }
        Verb::Set(set) => jobs::set(world, set),
        Verb::Limited(run, work, end) => jobs::limited(world, run, work, *end, kept),
        Verb::Join(one, two) => forks::join(world, one, two),
        Verb::Scope(parts) => forks::scope(world, parts),
        Verb::InPlaceScope(jobs, own, waits) => forks::in_place_scope(world, jobs, own, *waits),
        Verb::MixedScope(futures, jobs, is_cancelled) => {
            forks::mixed_scope(world, futures, jobs, *is_cancelled);
        }
        Verb::FreeScopes(inner, in_place) => forks::free_scopes(world, inner, in_place),
        Verb::Enter(verbs) => world.across().pool.enter(|| act(world, verbs)),
        Verb::Close => pools::close(world),
        Verb::Install(verbs) => forks::install(world, verbs),
        Verb::Loops(length, grain, panics) => forks::loops(world, *length, *grain, *panics),
        Verb::Maps(length, window, taken) => forks::maps(world, *length, *window, *taken),
        Verb::Spawn(body, end) => futures::spawn(world, body, *end, kept),
        Verb::BlockOn(body) => futures::block_on(world, body),
        Verb::Reserve(patience, then) => futures::reserve(world, *patience, then.as_ref(), kept),
        Verb::SpawnLocal(body, end) => futures::spawn_local(world, body, *end, kept),
        Verb::After(time, body, is_cancelled) => timers::after(world, *time, body, *is_cancelled),
        Verb::Delayed(time, body, end) => timers::delayed(world, *time, body, *end, kept),
        Verb::Every(periodic) => timers::every(world, *periodic),
        Verb::Prestart => pools::changed(world, |pool| _ = pool.prestart()),
        Verb::Dump => pools::changed(world, |pool| drop(pool.dump())),
        Verb::Resize(least, most) => {
            pools::changed(world, |pool| _ = pool.resize(usize::from(*least)..=(*most).into()));
        }
        // A job that waits is not idle itself.
        Verb::WaitIdle => pools::wait_idle(world, (world.depth() > 0).then_some(1_000)),
        Verb::WaitIdleTimeout(time) => pools::wait_idle(world, Some(*time)),
        Verb::Inner(lifetime) => pools::inner(world, lifetime),
        Verb::Io(transfer) => io::transfer(world, transfer, kept),
        Verb::Talks(link, bytes) if world.is_sure() => {
            world.pool.block_on(io::talk::talk(world, *link, *bytes));
        }
        Verb::Talks(..) => {}
        Verb::Across(verbs) => act(&world.across(), verbs),
        Verb::YieldNow
        | Verb::AsyncSleep(_)
        | Verb::Act(_)
        | Verb::Timeout(..)
        | Verb::SubmitAwait(_)
        | Verb::SpawnAwait(..)
        | Verb::Interval(_)
        | Verb::ReserveAwait(_)
        | Verb::SetAwait(_)
        | Verb::IoAwait(_)
        | Verb::TalksAwait(..) => panic!("only a future can do this: {verb:?}"),
    }
}
