//! A wait on any thread: inside a job of a worker, by `run_until`, or asleep outside of jobs.

use std::sync::Arc;
use std::time::Instant;

use brigade_sync::time;

use super::driven_pools::{driven_pools, wait_as};
use super::{Awaited, has_passed, held, thread_of, waits_for};
use crate::engine::key::Key;
use crate::engine::sleep::events::blocked::{Ask, BlockedThread};

/// Waits for the end of `awaited`: on a worker inside its job, elsewhere asleep. The owner of the pool `key` waits as its
/// worker.
pub(crate) fn wait(key: Option<Key>, awaited: &mut dyn Awaited) {
    wait_as(key, &mut |worker| match worker {
        Some(worker) => worker.run_until(awaited),
        None => sleep_outside(key, awaited),
    });
}

/// Waits on a thread that runs only jobs of pools without threads meanwhile: of the pool `key`, or of those that it has used. A worker of
/// another pool also waits as a worker.
pub(crate) fn sleep_outside(key: Option<Key>, awaited: &mut dyn Awaited) {
    let mut own = None;
    let thread = thread_of(awaited, &mut own);
    held::release();
    match driven_pools() {
        Some(pools) => (pools.sleep)(key, &thread, awaited),
        None => sleep_unless(&thread, awaited, &mut |_| false),
    }
    held::acquire_again();
}

/// Sleeps until the end of a wait, unless `serve` has something better to do for a while.
pub(super) fn sleep_unless(
    thread: &Arc<BlockedThread>,
    awaited: &mut dyn Awaited,
    serve: &mut dyn FnMut(&mut dyn Awaited) -> bool,
) {
    while awaited.register(thread) && !awaited.deadline().is_some_and(has_passed) {
        if !serve(awaited) {
            let timeout = awaited.deadline().map(time::until);
            let has_token = waits_for(awaited.pool(), &mut || thread.park(timeout));
            awaited.slept(has_token);
        }
    }
}

/// Lets waits release the permits of limited jobs, and acquire them again.
pub(crate) fn link_limited() {
    held::ACQUIRE.get_or_init(|| {
        || {
            held::acquire_by(|pool, ask| _ = wait_until(Some(pool), None, ask));
        }
    });
}

/// Waits until `ask` returns `true`, which this returns, or until the deadline. The jobs that end the wait may be of the
/// pool `key`.
pub(crate) fn wait_until(key: Option<Key>, deadline: Option<Instant>, ask: Ask<'_>) -> bool {
    let mut condition = Condition { key, deadline, ask };
    wait(key, &mut condition);
    condition.is_over()
}

/// A wait with a deadline that runs no part.
struct Condition<'a> {
    key: Option<Key>,
    deadline: Option<Instant>,
    ask: Ask<'a>,
}

impl Awaited for Condition<'_> {
    fn is_over(&mut self) -> bool {
        (self.ask)(None)
    }

    fn register(&mut self, thread: &Arc<BlockedThread>) -> bool {
        !(self.ask)(Some(thread))
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn pool(&self) -> Option<Key> {
        self.key
    }
}
