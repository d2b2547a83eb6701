//! Threads that are not the pool's, but fork as its workers do.
//!
//! Such a *guest* has an index, with the queues of a worker, while it calls a closure: its forks, and the jobs of its scopes, lie
//! where workers look for some. It is not one of the crew: it runs the closure, and what descends from what it waits for, and
//! never another job. What it does counts as work off the pool.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_task::Outcome;

use super::{CURRENT, FORKING, Worker};
use crate::engine::core::Core;
use crate::engine::enter::enter;
use crate::engine::off_pool::nest;

/// Whether a closure that a guest calls has entered the pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enters {
    /// It has, as on a worker.
    Pool,
    /// What it spawns goes where it did before.
    Nothing,
}

/// Calls a closure as a guest of a pool whose [callers participate](crate::Builder::caller_participates). It counts as one of the
/// pool's jobs.
///
/// # Errors
/// The closure, if the callers of this pool don't, the pool is closed or has as many guests as it may have, or the thread is a
/// worker of a pool.
pub(crate) fn visit<F: FnOnce() -> R, R>(
    core: &Arc<Core>,
    enters: Enters,
    call: F,
) -> Result<R, F> {
    if !core.config.caller_participates || CURRENT.with(|worker| worker.is_some()) {
        return Err(call);
    }
    let Some(index) = core.idle.take_guest_index() else { return Err(call) };
    let Some(work) = core.accept_for(false, || Some(core.begin_off_pool())) else {
        core.idle.release_guest_index(index);
        core.settle();
        return Err(call);
    };
    core.queues.peers.open(index, &core.config);
    let guest = Worker::at(core.clone(), index, true);
    core.idle.guests.wake();
    guest.trace_visit();
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        nest(core.key, || match enters {
            Enters::Pool => enter(core.key, Some(core), || FORKING.set(&guest, call)),
            Enters::Nothing => FORKING.set(&guest, call),
        })
    }));
    if core.key.is_here() {
        core.idle.guests.sleep();
        drop(guest.give_back());
        core.idle.release_guest_index(index);
        let outcome = if result.is_ok() { Outcome::Returned } else { Outcome::Panicked };
        core.ledger.count(outcome);
        drop(work);
        core.settle();
    } else {
        // In a forked child, where the queues are the parent's, also those of a pool whose guest this thread was before.
        FORKING.clear();
        core::mem::forget((guest, work));
    }
    result.map_err(|payload| panic::resume_unwind(payload))
}
