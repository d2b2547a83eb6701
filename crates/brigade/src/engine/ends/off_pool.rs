//! Work of a pool on threads that are not its workers: jobs that run in their caller, and drops of jobs and futures that are
//! cancelled, evicted or woken too late.
//!
//! The pool is not idle, and has not ended, while there is any: [`OffPool`] counts it. There are two hazards that do not exist
//! on workers. First, the drop of a future may wake another, which is therefore dropped too, and wakes the next. A long chain
//! of futures, each with the handle of the one before, would be a deep recursion. Second, such work may end its own pool, or
//! wait until it is idle, and would then wait for itself. So each thread records which pools' work it has on its stack, and
//! defers drops beyond some depth.

use core::cell::{Cell, RefCell};

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::Job;

use crate::engine::key::Key;

/// The maximum nesting of drops; a longer chain continues in a loop.
const DEPTH: usize = 16;

/// Counts a pool's work on threads that are not its workers.
#[derive(Default)]
pub(in crate::engine) struct OffPool {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl OffPool {
    /// Counts a piece of work that begins.
    pub(in crate::engine) fn begin(&self) {
        // Ordering: SeqCst, as everywhere here: one order with the reads of `begun_if_idle`.
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a piece of work that has ended.
    pub(in crate::engine) fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether there is none now.
    pub(in crate::engine) fn is_idle(&self) -> bool {
        self.begun_if_idle().is_some()
    }

    /// How much work has ever begun, if all of it has ended. The same number twice means that there was none in between.
    pub(in crate::engine) fn begun_if_idle(&self) -> Option<u64> {
        let begun = self.begun.load(Ordering::SeqCst);
        // Read after `begun`, as work begins before it ends.
        (self.ended.load(Ordering::SeqCst) >= begun).then_some(begun)
    }
}

/// The work that a thread has on its stack.
struct Stack {
    depth: Cell<usize>,
    /// The pools, from the outermost in.
    keys: [Cell<Option<Key>>; DEPTH],
}

brigade_sync::unmodelled::thread_local! {
    /// No destructor, so that it is accessible until the very end of the thread.
    static STACK: Stack =
        const { Stack { depth: Cell::new(0), keys: [const { Cell::new(None) }; DEPTH] } };
    /// Jobs to drop once the innermost work has ended.
    static DEFERRED: RefCell<Vec<(Key, Job)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with its pool on this thread's stack.
pub(crate) fn nest<R>(key: Key, work: impl FnOnce() -> R) -> R {
    let nested = Nested::enter(key);
    let result = work();
    nested.drop_deferred();
    result
}

/// A pool's work on this thread's stack, until it is dropped.
struct Nested {
    /// How many were there before.
    depth: usize,
}

impl Nested {
    #[inline(never)]
    fn enter(key: Key) -> Self {
        STACK.with(|stack| {
            let depth = stack.depth.get();
            if let Some(place) = stack.keys.get(depth) {
                place.set(Some(key));
            }
            stack.depth.set(depth + 1);
            Self { depth }
        })
    }

    /// Drops the jobs that were deferred during this work, if this is the level that does so.
    fn drop_deferred(&self) {
        if self.depth + 1 == DEPTH {
            self.drop_all_deferred();
        }
    }

    #[cold]
    fn drop_all_deferred(&self) {
        while let Some((key, job)) = next_deferred() {
            STACK.with(|stack| stack.keys[self.depth].set(Some(key)));
            drop(job);
        }
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        STACK.with(|stack| stack.depth.set(self.depth));
    }
}

fn next_deferred() -> Option<(Key, Job)> {
    DEFERRED.try_with(|jobs| jobs.borrow_mut().pop()).ok().flatten()
}

/// Drops a future of that pool, now or after the drops that are on the stack.
pub(crate) fn drop_off_pool(key: Key, job: Job) {
    let mut job = Some(job);
    if !may_nest() {
        // At the end of a thread the list may have been destroyed.
        let _ = DEFERRED.try_with(|jobs| {
            jobs.borrow_mut().extend(job.take().map(|job| (key, job)));
        });
    }
    if let Some(job) = job {
        nest(key, || drop(job));
    }
}

/// Whether this thread has little enough such work on its stack to begin another piece that may be deferred.
pub(crate) fn may_nest() -> bool {
    STACK.with(|stack| stack.depth.get()) < DEPTH
}

/// Whether this thread may be inside work of that pool, so that it must not wait for it.
pub(crate) fn is_off_pool(key: Key) -> bool {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        // Work that is nested deeper, or deferred, may be of any pool.
        depth >= DEPTH || stack.keys[..depth].iter().any(|other| other.get() == Some(key))
    })
}
