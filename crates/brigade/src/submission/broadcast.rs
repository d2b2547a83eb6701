//! Running a closure once on each thread of a pool.

use std::panic::Location;
use std::sync::Arc;

use brigade_task::{Job, drop_contained};

use super::Carried;
use super::watcher::watcher_of;
use crate::engine::{reach_once, with_worker};
use crate::handle::{Handle, JoinHandle};
use crate::values::{Priority, refuse};

impl Handle {
    /// Runs a closure on each thread of the pool, once, and returns a handle for each call, in the order of the
    /// threads' indices.
    ///
    /// `call` gets the [index](crate::current_worker_index) of its thread. The calls share the closure, run at the
    /// same time, and the last of them drops it. Never blocks, and ignores the pool's
    /// [capacity](crate::Builder::capacity). Allocates once for each thread, and once for `call`.
    ///
    /// First, the missing threads of the [core size](crate::Builder::threads) are started, as
    /// [`Handle::prestart`](crate::Handle::prestart) does. Then each thread in the pool at that moment gets its
    /// *share*: a single call, which no other thread runs. Threads beyond the core size get a share too, and so do
    /// blocked threads and the threads started in place of [blocked](crate::blocking()) threads. Threads that start
    /// later get none. There is always at least one share. So there may be fewer handles than [`size`](Self::size)
    /// allows, or more, but never two with the same index. A thread about to leave runs its share first. A thread
    /// refused by the operating system gets no share. If a concurrent call is still starting a thread and the start
    /// fails, that thread's share is cancelled.
    ///
    /// A busy or blocked thread runs its share when it is back, before most queued jobs. Apart from that a share is a
    /// job: it is counted, [waited for](Self::wait_idle) and cancelled by the handle, and a panic ends that share
    /// alone. A drained pool runs the shares, and a [discarded](crate::Shutdown::Discard) pool cancels them.
    ///
    /// A job may [join](JoinHandle::join) the shares of its own pool. During any wait of a job, its worker runs the
    /// worker's share. So `call` must not acquire a lock, or borrow a thread-local, that such a job holds while it
    /// waits.
    ///
    /// # Panics
    /// If the pool does not accept it, because
    /// - it has been closed, shut down or dropped, and the caller is not one of its own jobs;
    /// - it has no thread and can't start one;
    /// - it belongs to the parent of a fork.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    /// thread_local! {
    ///     static HITS: Cell<u64> = const { Cell::new(0) };
    /// }
    /// let pool = brigade::Pool::new(4);
    /// for _ in 0..100 {
    ///     pool.execute(|| HITS.set(HITS.get() + 1));
    /// }
    /// pool.wait_idle();
    /// let shares = pool.broadcast(|index| (index, HITS.take()));
    /// let shares: Vec<_> = shares.into_iter().map(|share| share.join()).collect::<Result<_, _>>()?;
    /// assert!(shares.iter().map(|&(index, _)| index).eq(0..4));
    /// assert_eq!(shares.iter().map(|&(_, hits)| hits).sum::<u64>(), 100);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    #[doc(alias = "spawn_broadcast")]
    #[track_caller]
    pub fn broadcast<F, R>(&self, call: F) -> Vec<JoinHandle<R>>
    where
        F: Fn(usize) -> R + Send + Sync + 'static,
        R: Send + 'static,
    {
        let (call, place, carried) = (Arc::new(call), Location::caller(), Carried::here());
        let watcher = watcher_of(self.key, place, None, Some(Priority::Normal));
        let shares = reach_once(self.key, |at| {
            let shared = at.shared().ok_or_else(|| at.refusal())?;
            shared.broadcast(at.worker().is_some(), || {
                let (call, watcher, carried) = (call.clone(), watcher.clone(), carried.clone());
                Job::with_handle(move || {
                    // No other worker runs a share.
                    let index = with_worker(|own| own.map(|own| own.index));
                    let Some(index) = index else { unreachable!("only a worker runs it") };
                    watcher.begin(true).run(|| carried.run(move || call(index)))
                })
            })
        });
        // The shares may have ended.
        drop_contained(call);
        let of_worker = |(_, handle)| JoinHandle::of_bound(handle, self.key);
        match shares {
            Ok(shares) => shares.into_iter().map(of_worker).collect(),
            Err(reason) => refuse(reason),
        }
    }
}
