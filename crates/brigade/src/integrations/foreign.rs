//! The functions that a crate needs to offer the API of a foreign pool on brigade's pools, as `rayon-core` in this
//! repository does. Not part of the public API.

use std::io;

use crate::engine::{Worker, with_member, with_worker};
pub use crate::fork::in_place_scope_with;
use crate::spawn::LocalPool;
use crate::values::OnPanic;
pub use brigade_task::ScopeWith;

/// The calling thread as a worker.
#[derive(Clone, Copy)]
pub struct Here<'a>(&'a Worker);

/// Calls a closure with the calling thread's worker; `None` unless it is a worker of a pool whose [waits run
/// anything](crate::Builder::waits_run_anything).
#[inline(always)]
pub fn here<R>(call: impl FnOnce(Option<Here<'_>>) -> R) -> R {
    let runs_anything = |worker: &&Worker| worker.shared.config.waits_run_anything();
    with_member(|worker| call(worker.filter(runs_anything).map(Here)))
}

/// Creates a pool owned by the calling thread, whose [waits run anything](crate::Builder::waits_run_anything).
///
/// # Errors
/// As for [`LocalPool::new`].
pub fn local_pool(on_panic: OnPanic) -> io::Result<LocalPool> {
    LocalPool::configured(|config| {
        config.waits_run_anything = true;
        config.hooks.on_panic = on_panic;
    })
}

impl Here<'_> {
    /// Like [`join`](crate::join()); `b` learns where it was forked.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA,
        B: FnOnce(Forked) -> RB + Send,
        RB: Send,
    {
        let forked = Forked(self.0.index);
        brigade_task::join(self.0, a, move || b(forked))
    }

    /// Whether jobs wait on the worker's own queues.
    pub fn has_queued(self) -> bool {
        self.0.has_queued()
    }

    /// Runs a queued job of the pool inside the current one; `false` if there is none.
    pub fn run_one(self) -> bool {
        self.0.run_one()
    }

    /// Runs a job of the worker's own queues inside the current one; `false` if there is none.
    pub fn run_own(self) -> bool {
        self.0.run_own()
    }
}

/// The worker, by index, that forked a closure.
#[derive(Clone, Copy, Debug)]
pub struct Forked(usize);

impl Forked {
    /// Whether the calling thread is another worker of the pool.
    #[inline(always)]
    pub fn has_migrated(self) -> bool {
        with_worker(|own| own.is_none_or(|own| own.index != self.0))
    }
}
