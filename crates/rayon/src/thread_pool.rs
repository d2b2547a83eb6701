//! A pool of the user's.

use core::fmt;
use std::sync::Arc;
use std::thread;

use brigade::Pool;

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use crate::builder::{ThreadBuilder, ThreadPoolBuilder, ThreadSpawn};
use crate::error::ThreadPoolBuildError;
use crate::join::join;
use crate::registry::Registry;
use crate::scope::{
    Scope, ScopeFifo, in_place_scope_fifo_in, in_place_scope_in, scope, scope_fifo,
};
use crate::spawn::{spawn_fifo_in, spawn_in};
use crate::yielding::{Yield, current_thread_has_pending_tasks, yield_local, yield_now};

/// A pool of threads. They end when it is dropped and all spawned jobs have ended; the drop does not wait for them.
pub struct ThreadPool {
    registry: Arc<Registry>,
    /// Dropping it ends the pool; `None` if its thread is the program's.
    _pool: Option<Pool>,
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool and starts the threads.
    ///
    /// # Errors
    /// If a thread can't be started, or as [`use_current_thread`](Self::use_current_thread) says.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let (pool, registry) = self.build_parts()?;
        Ok(ThreadPool { registry, _pool: pool })
    }
}

impl ThreadPoolBuilder {
    /// Builds a pool whose threads may borrow, calls `with_pool` with it, and returns once the threads have ended. `wrapper` is
    /// called on each thread, and must call [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let start = |thread: ThreadBuilder| {
                let builder = thread.std_builder();
                builder.spawn_scoped(scope, move || wrapper(thread)).map(drop)
            };
            let pool = self.spawn_handler(start).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl ThreadPool {
    /// Calls a closure on a thread of the pool, and returns the result. Its forks and parallel iterators use this pool.
    ///
    /// # Panics
    /// If the closure panics, with the same payload.
    pub fn install<F, R>(&self, call: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.install(call)
    }

    /// Calls a closure on each thread of the pool; see [`broadcast`](crate::broadcast()).
    ///
    /// # Panics
    /// If a call panics, once all have ended.
    pub fn broadcast<F, R>(&self, call: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(&self.registry, call)
    }

    /// The number of threads of the pool.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads
    }

    /// The index of the calling thread if it is this pool's.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.registry.index_here()
    }

    /// Whether jobs wait on the calling thread's own queues, if it is this pool's.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().and_then(|_| current_thread_has_pending_tasks())
    }

    /// Calls [`join`](crate::join()) on a thread of the pool.
    ///
    /// # Panics
    /// If a closure panics, with the same payload, once both have ended.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(a, b))
    }

    /// Calls [`scope`](crate::scope()) on a thread of the pool.
    ///
    /// # Panics
    /// As for [`scope`](crate::scope()).
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(body))
    }

    /// Calls [`scope_fifo`](crate::scope_fifo()) on a thread of the pool.
    ///
    /// # Panics
    /// As for [`scope`](crate::scope()).
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(body))
    }

    /// Calls a closure with a [`Scope`] on the calling thread; the jobs run on the pool.
    ///
    /// # Panics
    /// As for [`scope`](crate::scope()).
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(&self.registry, body)
    }

    /// Like [`in_place_scope`](Self::in_place_scope), with a [`ScopeFifo`].
    ///
    /// # Panics
    /// As for [`scope`](crate::scope()).
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(&self.registry, body)
    }

    /// Runs a closure on the pool.
    pub fn spawn<F: FnOnce() + Send + 'static>(&self, call: F) {
        spawn_in(&self.registry, call);
    }

    /// Like [`spawn`](Self::spawn); the closures that a thread of the pool spawns so start in the order of their spawns.
    pub fn spawn_fifo<F: FnOnce() + Send + 'static>(&self, call: F) {
        spawn_fifo_in(&self.registry, call);
    }

    /// Runs a closure on each thread of the pool, and does not wait for it.
    pub fn spawn_broadcast<F>(&self, call: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(&self.registry, call);
    }

    /// Runs a job of the pool if one is queued; `None` on a thread of no pool, or of another.
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().and_then(|_| yield_now())
    }

    /// Runs a job of the calling thread's own queues, if any; `None` on a thread of no pool, or of another.
    pub fn yield_local(&self) -> Option<Yield> {
        self.current_thread_index().and_then(|_| yield_local())
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .finish_non_exhaustive()
    }
}
