//! Scopes: any number of jobs that borrow.

use core::fmt;
use std::sync::Arc;

use brigade::foreign::ScopeWith;
use ref_cast::RefCast;

use crate::broadcast::BroadcastContext;
use crate::global::{current_or_global, in_worker};
use crate::registry::{Fifos, Registry};

/// Jobs that borrow, and have all ended when the call that made this returns.
#[derive(RefCast)]
#[repr(transparent)]
pub struct Scope<'scope>(ScopeWith<'scope, ()>);

/// Like [`Scope`]; the jobs added by a thread start in the order of addition.
#[derive(RefCast)]
#[repr(transparent)]
pub struct ScopeFifo<'scope>(ScopeWith<'scope, Queues<'scope>>);

/// A closure of a [`ScopeFifo`].
type Body<'scope> = Box<dyn FnOnce(&ScopeFifo<'scope>) + Send + 'scope>;

/// The closures of a [`ScopeFifo`].
#[allow(unreachable_pub)] // The trait of a cast names it.
pub struct Queues<'scope> {
    registry: Arc<Registry>,
    fifos: Fifos<Body<'scope>>,
}

impl<'scope> Scope<'scope> {
    /// Runs a closure on the pool; it may add more.
    pub fn spawn<F>(&self, body: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.0.execute_with(|scope| body(Self::ref_cast(scope)));
    }

    /// Runs a closure on each thread of the pool.
    pub fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.broadcast_with(move |scope| body(Self::ref_cast(scope), BroadcastContext::here()));
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Runs a closure on the pool, after the jobs this thread has added before; it may add more.
    pub fn spawn_fifo<F>(&self, body: F)
    where
        F: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let queues = self.0.value();
        let Some(index) = queues.registry.index_here() else {
            return self.0.execute_with(|scope| body(Self::ref_cast(scope)));
        };
        queues.fifos.push(index, Box::new(body));
        self.0.execute_with(move |scope| {
            let body = scope.value().fifos.pop(index);
            body(Self::ref_cast(scope));
        });
    }

    /// Runs a closure on each thread of the pool.
    pub fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.broadcast_with(move |scope| body(Self::ref_cast(scope), BroadcastContext::here()));
    }
}

/// Calls a closure with a [`Scope`] on a thread of the current pool; returns once all jobs have ended.
///
/// # Panics
/// With the payload of the first panic of the closure or of a job, once all jobs have ended.
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|| in_place_scope(body))
}

/// Like [`scope`](scope()), with a [`ScopeFifo`].
///
/// # Panics
/// As for [`scope`](scope()).
pub fn scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|| in_place_scope_fifo(body))
}

/// Like [`scope`](scope()), but calls the closure on the calling thread.
///
/// # Panics
/// As for [`scope`](scope()).
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    in_place_scope_in(&current_or_global(), body)
}

/// Like [`in_place_scope`], with a [`ScopeFifo`].
///
/// # Panics
/// As for [`scope`](scope()).
pub fn in_place_scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place_scope_fifo_in(&current_or_global(), body)
}

pub(crate) fn in_place_scope_in<'scope, F, R>(registry: &Registry, body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    registry.open((), |scope| body(Scope::ref_cast(scope)))
}

pub(crate) fn in_place_scope_fifo_in<'scope, F, R>(registry: &Arc<Registry>, body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let fifos = Fifos::new(registry.num_threads);
    let queues = Queues { registry: registry.clone(), fifos };
    registry.open(queues, |scope| body(ScopeFifo::ref_cast(scope)))
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
