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
use std::thread;

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

    /// Counts pieces as waiting for jobs of the pool.
    pub(in crate::engine) fn begin_wait(&self, pieces: u64) {
        self.waiting.fetch_add(pieces, Ordering::SeqCst);
    }

    /// Counts pieces as waiting no more.
    pub(in crate::engine) fn end_wait(&self, pieces: u64) {
        self.waiting.fetch_sub(pieces, Ordering::SeqCst);
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

/// A pool on this thread's stack, until this is dropped.
pub(crate) struct Nested {
    /// The depth of the stack below.
    below: usize,
    /// Whether the thread was unwinding before.
    was_unwinding: bool,
}

/// Puts a pool on this thread's stack, and whether its [`OffPool`] counts the work.
pub(crate) fn nest(key: Key, is_counted: bool) -> Nested {
    let below = STACK.with(|stack| {
        let depth = stack.depth.get();
        if let Some(place) = stack.keys.get(depth) {
            place.set(Some((key, is_counted)));
        }
        stack.depth.replace(depth + 1)
    });
    Nested { below, was_unwinding: thread::panicking() }
}

impl Drop for Nested {
    fn drop(&mut self) {
        let _leave = Defer(|| STACK.with(|stack| stack.depth.set(self.below)));
        // The innermost level at which jobs are not deferred. If the work unwinds, a panic of a drop would abort.
        if self.below + 1 == DEPTH && (self.was_unwinding || !thread::panicking()) {
            drop_deferred();
        }
    }
}

/// Drops the jobs deferred during the work at the last place of the stack, which ends.
#[cold]
fn drop_deferred() {
    while let Ok(Some((key, job))) = DEFERRED.try_with(|jobs| jobs.borrow_mut().pop()) {
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
            if let Some(job) = job.take() {
                jobs.borrow_mut().push((key, job));
            }
        });
    }
    if job.is_some() {
        let _nested = nest(key, false);
        drop(job);
    }
}

/// Drops a value like a job of the pool `key`. A type of its own for the job of each value would be compiled anew.
pub(crate) fn drop_value_off_pool(key: Key, value: Box<dyn Send>) {
    drop_off_pool(key, Job::new(move || drop(value)));
}

/// The pool of the innermost work on this thread's stack, if its [`OffPool`] counts that.
pub(crate) fn pool_of_work() -> Option<Key> {
    match STACK.with(|stack| stack.keys.get(stack.depth.get().checked_sub(1)?)?.get()) {
        Some((key, true)) => Some(key),
        _ => None,
    }
}

/// Begins a wait of this thread. Returns how many pieces of work of the pool `key` on the stack were not yet counted as waiting, and how much
/// of the stack was.
pub(in crate::engine) fn begin_wait(key: Key) -> (u64, usize) {
    STACK.with(|stack| {
        let depth = stack.depth.get().min(DEPTH);
        let (from, mut pieces) = (stack.waits.replace(depth), 0);
        for other in &stack.keys[from.min(depth)..depth] {
            pieces += u64::from(other.get() == Some((key, true)));
        }
        (pieces, from)
    })
}

/// Ends a wait of this thread.
pub(in crate::engine) fn end_wait(former: usize) {
    STACK.with(|stack| stack.waits.set(former));
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
        let mut is_inside = depth >= DEPTH;
        for other in &stack.keys[..depth.min(DEPTH)] {
            is_inside |= matches!(other.get(), Some((pool, _)) if pool == key);
        }
        is_inside
    })
}

/// Drops a job's closure or future for this cause, and contains a panic of the drop.
pub(crate) fn cancel_contained(job: Job, cause: Cause) -> Outcome {
    cancel_and_tell(job, cause, &|| ())
}

/// Like [`cancel_contained`], and calls `tell` after a panic.
pub(in crate::engine) fn cancel_and_tell(job: Job, cause: Cause, tell: &dyn Fn()) -> Outcome {
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
                off_pool.begin_wait(1);
                off_pool.end_wait(1);
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
