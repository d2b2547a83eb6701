//! Work of a pool on foreign threads: jobs run by their callers, and drops of jobs and futures that are cancelled,
//! evicted or pending at the end of the pool.
//!
//! During such work the pool is not idle and has not ended: [`OffPool`] counts it. Two hazards don't exist on workers.
//! First, the drop of a job may cancel or end a second one, whose drop cancels the next. A long
//! chain of jobs, each with the handle of the previous, would be a deep recursion. Second, such work may end its own
//! pool, or wait until the pool is idle, and would then wait for itself. So each thread records the pools whose work is
//! on its stack, and defers drops beyond a certain depth.

use core::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::Defer;
use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicU64;
use brigade_task::{Cause, Job, Outcome, drop_contained};

use crate::engine::key::Key;

/// The maximum nesting of drops; a longer chain continues in a loop.
const DEPTH: usize = 16;

/// Counts a pool's work on foreign threads.
#[derive(Default)]
pub(in crate::engine) struct OffPool {
    begun: AtomicU64,
    ended: AtomicU64,
    /// How many pieces wait for jobs of the pool.
    waiting: AtomicU64,
}

impl OffPool {
    /// Counts the start of a piece of work.
    pub(in crate::engine) fn begin(&self) {
        // Ordering: SeqCst, as everywhere here: a single order with the reads of `begun_if_over`.
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts the end of a piece of work.
    pub(in crate::engine) fn end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts pieces as waiting while a closure waits for jobs of the pool, and calls `look` before.
    pub(in crate::engine) fn wait<R>(
        &self,
        pieces: u64,
        look: impl FnOnce(),
        wait: impl FnOnce() -> R,
    ) -> R {
        self.waiting.fetch_add(pieces, Ordering::SeqCst);
        let _end = Defer(|| _ = self.waiting.fetch_sub(pieces, Ordering::SeqCst));
        look();
        wait()
    }

    /// Whether there is no such work now, or only such that `waits`.
    pub(in crate::engine) fn is_over(&self, waits: bool) -> bool {
        self.begun_if_over(waits).is_some()
    }

    /// How many pieces of work have ever begun, if at one moment all have ended, or wait if `waits`. An equal number later
    /// means no work in between.
    pub(in crate::engine) fn begun_if_over(&self, waits: bool) -> Option<u64> {
        let begun = self.begun.load(Ordering::SeqCst);
        // Read after `begun`, because work begins before it ends, and before `waiting`: no piece is counted twice.
        let ended = self.ended.load(Ordering::SeqCst);
        let waiting = if waits { self.waiting.load(Ordering::SeqCst) } else { 0 };
        // A piece that has begun since may count in place of one that goes on.
        (ended + waiting >= begun && self.begun.load(Ordering::SeqCst) == begun).then_some(begun)
    }
}

/// The work on a thread's stack.
struct Stack {
    depth: Cell<usize>,
    /// The pools, from the outermost in, and whether their [`OffPool`] counts the work.
    keys: [Cell<Option<(Key, bool)>>; DEPTH],
    /// How much of the work is counted as waiting.
    waits: Cell<usize>,
}

brigade_sync::unmodelled::thread_local! {
    /// No destructor, so that it is accessible until the very end of the thread.
    static STACK: Stack =
        const { Stack { depth: Cell::new(0), keys: [const { Cell::new(None) }; DEPTH], waits: Cell::new(0) } };
    /// Jobs to drop once the innermost work has ended.
    static DEFERRED: RefCell<Vec<(Key, Job)>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with the pool `key` on this thread's stack, and whether its [`OffPool`] counts it.
pub(crate) fn nest<R>(key: Key, is_counted: bool, work: impl FnOnce() -> R) -> R {
    let depth = enter(key, is_counted);
    let _leave = Defer(|| STACK.with(|stack| stack.depth.set(depth)));
    let result = work();
    // The innermost level at which jobs are not deferred.
    if depth + 1 == DEPTH {
        drop_deferred();
    }
    result
}

/// Puts a pool on this thread's stack; returns the depth of the stack before.
#[inline(never)]
fn enter(key: Key, is_counted: bool) -> usize {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        if let Some(place) = stack.keys.get(depth) {
            place.set(Some((key, is_counted)));
        }
        stack.depth.replace(depth + 1)
    })
}

/// Drops the jobs deferred during the work at the last place of the stack, which ends.
#[cold]
fn drop_deferred() {
    let next = || DEFERRED.try_with(|jobs| jobs.borrow_mut().pop()).ok().flatten();
    while let Some((key, job)) = next() {
        STACK.with(|stack| stack.keys[DEPTH - 1].set(Some((key, false))));
        drop(job);
    }
}

/// Drops a job of the pool `key`, now or after the drops on the stack.
pub(crate) fn drop_off_pool(key: Key, job: Job) {
    let mut job = Some(job);
    if !may_nest() {
        // At the end of a thread the list may have been destroyed.
        let _ = DEFERRED.try_with(|jobs| {
            jobs.borrow_mut().extend(job.take().map(|job| (key, job)));
        });
    }
    if let Some(job) = job {
        nest(key, false, || drop(job));
    }
}

/// The pool of the innermost work on this thread's stack, if its [`OffPool`] counts that.
pub(crate) fn pool_of_work() -> Option<Key> {
    STACK
        .with(|stack| stack.keys.get(stack.depth.get().checked_sub(1)?)?.get())
        .filter(|of| of.1)
        .map(|of| of.0)
}

/// Calls `wait` with the number of pieces of work of the pool `key` on this thread's stack that are not yet counted as waiting.
pub(in crate::engine) fn with_pieces<R>(key: Key, wait: impl FnOnce(u64) -> R) -> R {
    STACK.with(|stack| {
        let depth = stack.depth.get().min(DEPTH);
        let from = stack.waits.replace(depth);
        let _end = Defer(|| stack.waits.set(from));
        let keys = stack.keys[from.min(depth)..depth].iter();
        wait(keys.filter(|other| other.get() == Some((key, true))).count() as u64)
    })
}

/// Whether this thread may begin another piece of deferrable work: fewer than [`DEPTH`] are on its stack.
pub(crate) fn may_nest() -> bool {
    STACK.with(|stack| stack.depth.get()) < DEPTH
}

/// Whether this thread may be inside work of the pool `key`, and so must not wait for the pool.
pub(crate) fn is_off_pool(key: Key) -> bool {
    STACK.with(|stack| {
        let depth = stack.depth.get();
        // Work nested deeper, or deferred, may be of any pool.
        depth >= DEPTH
            || stack.keys[..depth].iter().any(|other| other.get().is_some_and(|of| of.0 == key))
    })
}

/// Drops a job's closure or future for this cause, and contains a panic of the drop.
pub(crate) fn cancel_contained(job: Job, cause: Cause) -> Outcome {
    cancel_and_tell(job, cause, || ())
}

/// Like [`cancel_contained`], and calls `tell` after a panic.
pub(in crate::engine) fn cancel_and_tell(job: Job, cause: Cause, tell: impl FnOnce()) -> Outcome {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| job.cancel(cause)));
    outcome.unwrap_or_else(|payload| {
        tell();
        drop_contained(payload);
        Outcome::Cancelled(cause)
    })
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::thread;

    use super::*;

    /// Caught: the end of a later piece counted as the end of a piece that went on.
    #[test]
    fn short_work_does_not_hide_lasting_work() {
        let off_pool = OffPool::default();
        off_pool.begin();
        let short = || {
            for _ in 0..200_000 {
                off_pool.begin();
                off_pool.wait(1, || (), || ());
                off_pool.end();
            }
        };
        thread::scope(|scope| {
            let short = scope.spawn(short);
            while !short.is_finished() {
                assert!(!off_pool.is_over(false) && !off_pool.is_over(true));
            }
        });
        off_pool.end();
        assert!(off_pool.is_over(false));
    }
}
