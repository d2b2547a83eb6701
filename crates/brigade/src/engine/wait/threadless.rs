//! A pool without threads and without an owner: a thread that has used it acts as its worker while it waits.
//!
//! A single thread does so at a time. A thread that waits beside it sleeps, and no wake-up is lost: the thread lists itself
//! before it tries the lock of the worker; the thread that leaves releases this lock before it wakes all in the list.
//!
//! The wait is not a job of the pool: meanwhile the pool may be idle, and it may end, which ends its part in the wait.

use core::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;

use brigade_sync::Defer;
use brigade_sync::fork::PerProcess;
use brigade_sync::unmodelled::Mutex;

use super::driven::{Driven, newest_owned, run_owned, wait_as_other};
use super::driven_pools::{DRIVEN_POOLS, DrivenPools};
use super::outside::sleep_unless;
use super::{Awaited, Call, has_ended};
use crate::engine::idle::Parked;
use crate::engine::key::Key;
use crate::engine::shared::Shared;
use crate::engine::sleep::events::blocked::{BlockedThread, Elsewhere};
use crate::engine::worker::{Worker, with_worker};

brigade_sync::unmodelled::thread_local! {
    /// The threadless pools that the calling thread has used, the last of them at the end.
    static USED: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
}

/// The threadless pools of the process that have not ended.
static POOLS: PerProcess<Mutex<Vec<Arc<Driven>>>> = PerProcess::new();

/// Makes the functions of pools without threads a part of the program. Must be called before the first of them is made.
pub(crate) fn link_driven() {
    DRIVEN_POOLS.get_or_init(|| DrivenPools {
        wait_as_other,
        serves: || newest_owned(None).is_some() || !pools_of_wait(None).is_empty(),
        owns: |key| newest_owned(Some(key)).is_some(),
        run_owned,
        share,
        note_use,
        catch_up,
        sleep,
        run_below: Worker::run_below,
    });
}

fn share(shared: Arc<Shared>) {
    let key = shared.key;
    POOLS.get().lock().push(Driven::new(shared));
    note_use(key);
}

fn note_use(key: Key) {
    let _ = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        if used.last() != Some(&key) {
            use_last(&mut used, key, &POOLS.get().lock());
        }
    });
}

/// Moves a pool to the end of a list, and removes the pools that have ended.
fn use_last(used: &mut Vec<Key>, key: Key, pools: &[Arc<Driven>]) {
    used.retain(|&other| other != key && find(pools, other).is_some());
    used.push(key);
}

fn find(pools: &[Arc<Driven>], key: Key) -> Option<&Arc<Driven>> {
    pools.iter().find(|pool| pool.is_of(key))
}

/// The pools whose worker this thread would act as in a wait for a job of the pool `key`, the best of them first.
fn pools_of_wait(key: Option<Key>) -> Vec<Arc<Driven>> {
    let mut used = USED.try_with(|used| used.borrow().clone()).unwrap_or_default();
    let (first, mut wanted) = (key.and_then(Key::if_threadless), Vec::new());
    if first.is_none() && used.is_empty() {
        return wanted;
    }
    let pools = POOLS.get().lock();
    if let Some(key) = first {
        use_last(&mut used, key, &pools);
    }
    for &key in used.iter().rev() {
        if let Some(pool) = find(&pools, key) {
            wanted.push(pool.clone());
        }
    }
    wanted
}

/// Acts as the worker of a pool for a closure, which returns how it goes on; `false` if another thread acts so, or the pool has ended.
fn act(pool: &Arc<Driven>, call: &mut dyn FnMut(&Worker) -> Parked) -> bool {
    let threads = &pool.shared().threads;
    let has_acted = pool.call(true, &mut |worker| {
        threads.enter();
        let _exit = Defer(|| threads.exit());
        if let Parked::Leave = call(worker) {
            pool.leave();
        }
    });
    if pool.has_ended() {
        pool.leave_list(&mut POOLS.get().lock());
        pool.finish();
    }
    if has_acted {
        let others = pool.waiting.lock().clone();
        for thread in others {
            thread.unpark();
        }
    }
    has_acted
}

fn catch_up(key: Option<Key>) {
    for pool in pools_of_wait(key) {
        act(&pool, &mut |worker| {
            _ = worker.poll_events() || worker.run_one();
            Parked::Search
        });
    }
}

fn sleep(key: Option<Key>, thread: &Arc<BlockedThread>, awaited: &mut dyn Awaited) {
    let serving = Serving::begin(key, thread);
    let mut serve =
        |awaited: &mut dyn Awaited| serving.run(awaited) || serving.wait_as_worker(awaited);
    sleep_unless(thread, awaited, &mut serve);
}

/// A wait on a thread that may act as the worker of threadless pools.
struct Serving<'a> {
    thread: &'a Arc<BlockedThread>,
    pools: Vec<Arc<Driven>>,
}

impl<'a> Serving<'a> {
    /// Lists the thread.
    fn begin(key: Option<Key>, thread: &'a Arc<BlockedThread>) -> Self {
        let pools = pools_of_wait(key);
        for pool in &pools {
            pool.waiting.lock().push(thread.clone());
        }
        Self { thread, pools }
    }

    /// Acts as the worker of the best pool that it can, until the wait is over, the pool has ended, or a better one is free; `false` if there
    /// is none.
    fn run(&self, awaited: &mut dyn Awaited) -> bool {
        for (place, pool) in self.pools.iter().enumerate() {
            let better = &self.pools[..place];
            if act(pool, &mut |worker| worker.serve(awaited, self.thread, better)) {
                return true;
            }
        }
        false
    }

    /// Waits as a worker of another pool, until one of these is free, or the wait is over; `false` on a thread that is no worker.
    fn wait_as_worker(&self, awaited: &mut dyn Awaited) -> bool {
        let beside = Some((self.thread, &*self.pools));
        with_worker(|worker| worker.map(|worker| worker.run_beside(awaited, beside))).is_some()
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        for pool in &self.pools {
            pool.waiting.lock().retain(|thread| !Arc::ptr_eq(thread, self.thread));
        }
    }
}

/// Whether no thread acts as the worker of one of these pools.
pub(in crate::engine) fn is_any_free(pools: &[Arc<Driven>]) -> bool {
    pools.iter().any(|pool| pool.is_free())
}

impl Worker {
    /// Runs jobs until a wait that is not inside a job of the pool is over; leaves if the pool has ended.
    fn serve(
        &self,
        awaited: &mut dyn Awaited,
        thread: &Arc<BlockedThread>,
        better: &[Arc<Driven>],
    ) -> Parked {
        let shared = &self.shared;
        let call = Arc::new(Call { shared: shared.clone(), index: self.index });
        let call = Elsewhere::Worker(Waker::from(call));
        while !has_ended(awaited) && !is_any_free(better) {
            thread.lie_under_jobs(true);
            let has_run = self.run_one() || self.run_below();
            thread.lie_under_jobs(false);
            if has_run {
                awaited.slept(false);
            } else if awaited.register(thread) && !is_any_free(better) {
                let until = self.wakes_at(awaited);
                *thread.elsewhere.lock() = Some(call.clone());
                let parked = thread.spot.sleep_elsewhere(|| {
                    shared.idle.start_search();
                    let parked = self.park_unless(until, &mut || thread.has_token());
                    if let Parked::Search = parked {
                        self.end_search();
                    }
                    parked
                });
                *thread.elsewhere.lock() = None;
                if let Ok(Parked::Leave) = parked {
                    return Parked::Leave;
                }
                let has_token = parked.is_err() || thread.take_token();
                awaited.slept(has_token);
            }
        }
        Parked::Search
    }
}
