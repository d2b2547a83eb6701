//! Futures that stay on one worker.

use core::any::Any;
use core::future::Future;
use core::pin::Pin;
use std::panic::Location;

use brigade_sync::thread::{ThreadId, current_id};
use brigade_task::{
    Job, Outcome, RunningFuture, Schedule, Spawned, TaskRef, Woken, drop_contained, is_large,
};

use super::watched::Watched;
use super::{bind, cuts, stops};
use crate::engine::{Key, Worker, entered, reach, wait_as, with_member};
use crate::handle::JoinHandle;
use crate::submission::{Carried, watcher_of};
use crate::values::Priority;

/// The scheduler of a local future: its worker.
#[derive(Clone, Copy)]
struct OnWorker {
    key: Key,
    /// No other worker gets this index until all local futures of this worker have ended.
    index: usize,
    thread: ThreadId,
}

impl Schedule for OnWorker {
    const STOPS_ALL: fn() -> bool = stops;
    const IS_LOCAL: bool = true;

    fn is_here(self) -> bool {
        current_id() == self.thread
    }

    fn schedule(self, job: Job, _: Woken, _: u8) {
        let mut job = Some(job);
        reach(self.key, &mut |at| match (at.shared(), job.take()) {
            (Some(shared), Some(job)) => shared.send_local(self.index, job),
            // In a forked child. Otherwise the worker and the pool exist as long as the future.
            (_, job) => core::mem::forget(job),
        });
    }

    fn cuts(self, future: RunningFuture) -> bool {
        cuts(self.key, future)
    }

    fn bind(self, task: TaskRef) -> u32 {
        bind(self.key, task)
    }

    fn release(self, number: u32, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        let mut unclaimed = Some(unclaimed);
        reach(self.key, &mut |at| {
            at.count_released(outcome, unclaimed.take().flatten());
            if let Some(shared) = at.shared() {
                shared.release_local(self.index, number);
            }
        });
    }
}

/// Spawns a future that need not be `Send` on the current worker: only this thread polls and drops it. Allocates
/// once.
///
/// A thread that owns a [`LocalPool`](crate::LocalPool) and is not a worker spawns to its own pool: the pool
/// [entered](crate::Handle::enter) by the thread, or else the newest. The owner's next call polls the future.
///
/// The future may be woken and [cancelled](JoinHandle::cancel) from anywhere. Code that blocks this thread delays the
/// future, because no other thread can run it. A worker with local futures does not end, even if the pool is made
/// [smaller](crate::Handle::resize) or ends idle threads. When the pool ends, pending local futures are cancelled on
/// this thread. Local futures don't count towards the pool's capacity.
///
/// The handle is `Send` if the future's output is. While a job waits on this thread, in [`join`](JoinHandle::join) or
/// any other call of brigade, the thread's woken local futures are polled inside that wait.
///
/// # Panics
/// If this thread is neither a worker of a pool nor the owner of a `LocalPool`. The jobs and futures of a pool run on
/// its workers.
///
/// # Examples
/// ```
/// use std::{cell::Cell, rc::Rc};
/// let pool = brigade::Pool::new(2);
/// let sum = pool.submit(|| {
///     let sum = Rc::new(Cell::new(0));
///     let mine = sum.clone();
///     brigade::spawn_local(async move {
///         for n in 1..=3 {
///             mine.set(mine.get() + n);
///             brigade::yield_now().await;
///         }
///         sum.get()
///     })
/// });
/// assert_eq!(sum.join()?.join()?, 6);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let is_worker = with_member(|own| own.is_some());
    let pool = if is_worker { None } else { entered() };
    spawn_local_as(pool, |_| true, future, Location::caller()).expect(
        "a local future must be spawned on a worker of a pool with threads, or on the thread that owns a `LocalPool`",
    )
}

/// Spawns a future on the worker that a wait of this thread, for a job of this pool, would use. Drops the future if there is no
/// such worker.
pub(crate) fn spawn_local_as<F>(
    pool: Option<Key>,
    is_own: impl Fn(&Worker) -> bool,
    future: F,
    place: &'static Location<'static>,
) -> Option<JoinHandle<F::Output>>
where
    F: Future + 'static,
    F::Output: 'static,
{
    if const { is_large::<F>() } {
        // Each call below would hold a copy of it.
        let future: Boxed<F::Output> = Box::pin(future);
        return spawn_local_as(pool, is_own, future, place);
    }
    // Before this thread acts as another worker, outside of the calling code's job.
    let carried = Carried::here();
    let (mut future, mut spawned) = (Some(future), None);
    wait_as(pool, &mut |worker| match worker {
        Some(own) if own.shared.key.if_threadless().is_none() && !own.is_guest() && is_own(own) => {
            let Some(future) = future.take() else { return };
            let (key, index) = (own.shared.key, own.index);
            let scheduler = OnWorker { key, index, thread: current_id() };
            let watcher = watcher_of(key, place, None, Some(Priority::Normal));
            let Spawned { job, handle } = if watcher.watches() || !carried.is_empty() {
                let future: Boxed<F::Output> = Box::pin(future);
                Spawned::local(Watched::new(watcher, carried.clone(), future), scheduler)
            } else {
                Spawned::local(future, scheduler)
            };
            own.accept_local();
            own.shared.send_local(index, job);
            spawned = Some(JoinHandle::of_bound(handle, key));
        }
        _ => {}
    });
    drop_contained(future);
    spawned
}

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;
