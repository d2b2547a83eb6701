//! Two closures, in parallel if a thread is idle.

use core::marker::PhantomData;

use brigade::foreign;

use crate::global::in_worker;
use crate::registry::{as_worker, current_thread_index};

/// The argument of a closure of [`join_context`]: data about the call.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`: it is about the calling thread.
    marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self { migrated, marker: PhantomData }
    }

    /// Whether the closure runs on another thread than the caller of [`join_context`].
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Calls two closures, in parallel if a thread is idle, and returns both results.
///
/// # Panics
/// If a closure panics, with the same payload, once both have ended.
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    foreign::here(|worker| match worker {
        Some(worker) => worker.join(a, |_| b()),
        None => from_outside(|_| a(), |_| b()),
    })
}

/// Like [`join`](join()), and tells the closures whether they run on another thread.
///
/// # Panics
/// As for [`join`](join()).
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    foreign::here(|worker| match worker {
        Some(worker) => worker
            .join(|| a(FnContext::new(false)), |forked| b(FnContext::new(forked.has_migrated()))),
        None if current_thread_index().is_some() => as_worker(|| join_context(a, b)),
        None => from_outside(a, b),
    })
}

/// Calls both on a thread of the global pool.
#[cold]
fn from_outside<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    in_worker(|| {
        foreign::here(|worker| match worker {
            Some(worker) => worker.join(|| a(FnContext::new(true)), |_| b(FnContext::new(true))),
            None => unreachable!("it is called on a thread of a pool"),
        })
    })
}
