//! The only way from a key to its pool.
//!
//! Closing is checked in the same step as the push, because the push goes to the pool's own queue. Each thread caches
//! the pool of its last submission, so a submission touches neither a shared count nor a lock. The cache keeps the
//! pool's memory, but no threads, file descriptors or hooks, until the thread submits to a different pool or ends.

use core::any::Any;
use core::cell::RefCell;
use std::sync::Arc;

use brigade_task::{Outcome, drop_contained};

use super::end::NestedWork;
use super::enter::entered;
use super::key::Key;
use super::shared::Shared;
use super::wait::driven_pools::driven_pools;
use super::worker::{Worker, with_worker};
use crate::values::{Priority, Reason, Rejected};

brigade_sync::unmodelled::thread_local! {
    /// The pool of this thread's last submission.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Keeps a pool's memory; a forked child leaks it.
struct Last(Option<Arc<Shared>>);

impl Last {
    fn shared(&self, key: Key) -> Option<&Arc<Shared>> {
        self.0.as_ref().filter(|shared| shared.key == key)
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        // State in use by the parent's threads can't be dropped in the child.
        if let Some(shared) = self.0.take().filter(|shared| !shared.key.is_here()) {
            core::mem::forget(shared);
        }
    }
}

/// The relation of the calling thread to a pool.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    /// The thread is this worker of the pool.
    Worker(&'a Worker),
    /// The thread is not a worker of the pool.
    Outside(&'a Arc<Shared>),
    /// The pool no longer exists, or belongs to another process.
    Gone(Reason),
}

impl<'a> At<'a> {
    /// The pool, if it exists.
    pub(crate) fn shared(self) -> Option<&'a Arc<Shared>> {
        match self {
            At::Worker(worker) => Some(&worker.shared),
            At::Outside(shared) => Some(shared),
            At::Gone(_) => None,
        }
    }

    /// The worker, if the thread is one.
    pub(crate) fn worker(self) -> Option<&'a Worker> {
        if let At::Worker(worker) = self { Some(worker) } else { None }
    }

    /// Begins to drop a job. Off the pool, the end of the pool waits until the returned value is dropped.
    pub(crate) fn off_pool(self) -> Option<NestedWork<'a>> {
        match self {
            At::Worker(worker) => Some(NestedWork::uncounted(worker.shared.key)),
            At::Outside(shared) => Some(shared.off_pool()),
            At::Gone(_) => None,
        }
    }

    /// Counts a job that ended with `outcome` without having been queued.
    pub(crate) fn count_unqueued(self, outcome: Outcome) {
        if let Some(shared) = self.shared() {
            shared.ledger.count_unqueued(outcome);
        }
    }

    /// Counts a future that ended, or a job cancelled by its handle, and reports a panic without a handle.
    pub(crate) fn count_released(self, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        match self {
            At::Worker(worker) => worker.count_released(outcome, unclaimed),
            At::Outside(shared) => {
                if let Some(payload) = unclaimed {
                    // Only workers have counters for panics of the callback.
                    let _ = shared.tell_panic(payload);
                }
                shared.ledger.count(outcome);
            }
            At::Gone(_) => drop_contained(unclaimed),
        }
    }

    /// Notes that a queued job has been cancelled: its entry is left in a queue.
    pub(crate) fn leaves_entry(self) {
        match self {
            At::Worker(worker) => worker.leaves_entry(),
            At::Outside(shared) => shared.leaves_entry(),
            At::Gone(_) => {}
        }
    }

    /// The reason why the pool rejected a job although it was not full.
    #[cold]
    pub(crate) fn refusal(self) -> Reason {
        match self {
            At::Worker(worker) => worker.shared.refusal(),
            At::Outside(shared) => shared.refusal(),
            At::Gone(reason) => reason,
        }
    }

    /// Wraps and counts work rejected by the pool although it was not full, with the reason.
    #[cold]
    pub(crate) fn rejected<W>(self, work: W) -> Rejected<W> {
        self.reject(work, self.refusal())
    }

    /// Wraps and counts work rejected for `reason`.
    #[cold]
    pub(crate) fn reject<W>(self, work: W, reason: Reason) -> Rejected<W> {
        self.count_rejected(1);
        Rejected::new(work, reason)
    }

    #[cold]
    pub(crate) fn count_rejected(self, jobs: u64) {
        if let Some(shared) = self.shared() {
            shared.ledger.count_rejected(jobs);
        }
    }
}

/// The pool entered by the calling thread, or else the pool of the thread's worker.
#[inline]
pub(crate) fn current_pool() -> Option<Key> {
    entered().or_else(|| with_worker(|own| own.map(|own| own.shared.key)))
}

/// Calls a closure, once, with the relation of this thread to the pool `key`. The closure may run user code.
#[inline(never)]
pub(crate) fn reach(key: Key, call: &mut dyn FnMut(At<'_>)) {
    reach_inline(key, call);
}

/// Like [`reach`], for a closure that takes or returns values.
pub(crate) fn reach_once<R>(key: Key, call: impl FnOnce(At<'_>) -> R) -> R {
    let (mut call, mut result) = (Some(call), None);
    reach(key, &mut |at| {
        if let Some(call) = call.take() {
            result = Some(call(at));
        }
    });
    let Some(result) = result else { unreachable!("it is called once") };
    result
}

/// Like [`reach_once`], for hot callers on a worker of the pool: the code for it is compiled into each of them. Outside of the pool it
/// counts a reference to the pool.
#[inline(always)]
pub(crate) fn reach_on_worker<R>(key: Key, call: impl FnOnce(At<'_>) -> R) -> R {
    with_worker(|worker| {
        let found;
        // A single call, so that the closure is inlined once.
        call(match worker {
            Some(worker) if worker.is_of(key) => At::Worker(worker),
            _ => {
                found = find(key);
                match &found {
                    Ok(shared) => At::Outside(shared),
                    Err(reason) => At::Gone(*reason),
                }
            }
        })
    })
}

/// Like [`reach`], compiled into the caller.
#[inline(always)]
pub(crate) fn reach_inline(key: Key, mut call: impl FnMut(At<'_>)) {
    with_worker(|worker| match worker {
        Some(worker) if worker.is_of(key) => call(At::Worker(worker)),
        _ => reach_from_outside(key, &mut call),
    });
}

/// The pool `key`.
///
/// # Errors
/// The reason, if it no longer exists, or belongs to another process.
pub(crate) fn find(key: Key) -> Result<Arc<Shared>, Reason> {
    let mut found = Err(Reason::Closed);
    reach(key, &mut |at| {
        found = match at.shared() {
            Some(shared) => Ok(shared.clone()),
            None => Err(at.refusal()),
        };
    });
    found
}

/// The class of the calling thread's submissions to the pool `key`: the class of the running job, if the job is of this
/// pool.
#[inline]
pub(crate) fn class_here(key: Key) -> Priority {
    with_worker(|own| match own {
        Some(own) if own.is_open_to(key) => Priority::Normal,
        Some(own) if own.is_of(key) => own.class(),
        _ => Priority::default(),
    })
}

/// Like [`reach`], without a look-up, for the owner of a pool.
#[inline(always)]
pub(crate) fn reach_owned<R>(shared: &Arc<Shared>, call: impl FnOnce(At<'_>) -> R) -> R {
    with_worker(|worker| {
        // A single call, so that the closure is inlined once.
        call(match worker {
            Some(worker) if worker.is_of(shared.key) => At::Worker(worker),
            _ if shared.key.is_here() => At::Outside(shared),
            _ => At::Gone(Reason::Forked),
        })
    })
}

#[inline(never)]
fn reach_from_outside(key: Key, call: &mut dyn FnMut(At<'_>)) {
    if !key.is_here() {
        return call(At::Gone(Reason::Forked));
    }
    if let (Some(key), Some(pools)) = (key.if_threadless(), driven_pools()) {
        (pools.note_use)(key);
    }
    let known = LAST.try_with(|last| {
        let last = last.borrow();
        let shared = last.as_ref().and_then(|last| last.shared(key));
        if let Some(shared) = shared {
            call(At::Outside(shared));
        }
        shared.is_some()
    });
    if let Ok(true) = known {
        return;
    }
    let Some(shared) = Shared::find(key) else { return call(At::Gone(Reason::Closed)) };
    call(At::Outside(&shared));
    // Caches the pool; not on a thread whose thread-locals have been destroyed, nor in user code called from here, such as a spawner.
    // The former pool is dropped after the borrow: it may hold the last reference to user code.
    let former = LAST.try_with(|last| last.try_borrow_mut().ok()?.replace(Last(Some(shared))));
    drop(former);
}

/// Removes a pool from this thread's cache.
pub(crate) fn forget(key: Key) {
    let former = LAST.try_with(|last| {
        let mut last = last.try_borrow_mut().ok()?;
        if last.as_ref()?.shared(key).is_some() { last.take() } else { None }
    });
    drop(former);
}
