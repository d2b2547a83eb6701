//! A closure on each thread of a pool.

use core::fmt;
use core::marker::PhantomData;

use brigade_sync::Mutex;

use crate::global::current_or_global;
use crate::registry::{Registry, current_thread_index, with_current};

/// The argument of a broadcast's closure: data about the running thread.
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// Neither `Send` nor `Sync`: it is about the calling thread.
    marker: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    /// The context of the calling thread.
    pub(crate) fn here() -> Self {
        let num_threads = with_current(|current| current.map(|current| current.num_threads));
        let (Some(index), Some(num_threads)) = (current_thread_index(), num_threads) else {
            unreachable!("only threads of a pool run a broadcast")
        };
        Self { index, num_threads, marker: PhantomData }
    }

    /// The index of the thread in the pool.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of threads of the pool.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish_non_exhaustive()
    }
}

/// Calls a closure on each thread of the current pool, and returns the results in the order of the threads.
///
/// # Panics
/// If a call panics, once all have ended.
pub fn broadcast<F, R>(call: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(&current_or_global(), call)
}

/// Runs a closure on each thread of the current pool, and does not wait for it.
pub fn spawn_broadcast<F>(call: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(&current_or_global(), call);
}

pub(crate) fn broadcast_in<F, R>(registry: &Registry, call: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let results: Vec<_> = (0..registry.num_threads).map(|_| Mutex::new(None)).collect();
    let (call, shared) = (&call, &results);
    registry.open((), |scope| {
        scope.broadcast_with(move |_| {
            let context = BroadcastContext::here();
            let result = &shared[context.index];
            *result.lock() = Some(call(context));
        });
    });
    let results = results.into_iter().map(|result| match result.lock().take() {
        Some(result) => result,
        None => panic!("a thread of the pool has ended"),
    });
    results.collect()
}

pub(crate) fn spawn_broadcast_in<F>(registry: &Registry, call: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    drop(registry.handle().broadcast(move |_| call(BroadcastContext::here())));
}
