//! The budget of a poll: how many operations may be ready in it before the next yields.
//!
//! A future whose operations are always ready, such as the reads of a socket whose peer is fast, never waits. So its thread runs nothing
//! else, and nothing can stop it. The operations of I/O, timers and jobs therefore ask here first: after 64 ready operations, the next
//! wakes the task and is pending, once. So is the next operation of a future that must stop.
//!
//! One operation yields, not all until the end of the poll: a timeout around the future, and other futures of the same task, are still
//! polled. And a future that is polled in a loop inside the poll, by an executor without a budget, goes on.
//!
//! A poll saves 24 bytes of a thread-local, and an operation reads them. A hop of `brigade-lab bucket-brigade --over channel` took 204 ns
//! with it and 191 in the version before by turns (ratio 0.94, 0.73 to 1.16), and the rate of `echo --connections 64` was 0.96 (0.82 to
//! 1.09): no difference in 8 rounds.
//!
//! A budget belongs to a thread's innermost poll by [`poll_task`] or [`poll_limited`]. Under any other executor there is no limit.

use core::cell::Cell;
use core::task::{Context, Poll};

use crate::atomic::Ordering::Relaxed;
use crate::awaited::{Awaited, note};
use crate::unmodelled::AtomicBool;

/// How many operations may be ready in a poll. A system call takes 100 to 1,000 ns, so a poll ends after some 50 µs, half the time between two looks of a worker. tokio
/// has 128, with which `brigade-lab bucket-brigade --over unix --in-flight 64` takes 1.2 times as long (`docs/design/io.md`).
const OPERATIONS: u8 = if cfg!(brigade_seeded) { 4 } else { 64 };

/// In place of the number of operations left: an operation has yielded, so the next goes on.
const YIELDED: u8 = OPERATIONS + 1;

/// The state of a poll.
#[derive(Clone, Copy)]
struct Budget {
    /// Whether the future must stop; `None` if there is no limit, and then the rest has no meaning.
    must_stop: Option<fn() -> bool>,
    /// How many operations may still be ready, or [`YIELDED`].
    left: u8,
    /// Whether an operation has yielded.
    has_yielded: bool,
}

crate::unmodelled::thread_local! {
    /// The budget of the innermost poll. No destructor, so it is accessible until the thread has ended.
    static CURRENT: Cell<Budget> =
        const { Cell::new(Budget { must_stop: None, left: 0, has_yielded: false }) };
}

/// Calls `poll`, which polls a task; its operations yield once `must_stop` returns `true`. Also returns whether an operation has yielded.
pub fn poll_task<R>(must_stop: fn() -> bool, poll: impl FnOnce() -> R) -> (R, bool) {
    /// Restores the budget of the outer poll, on return and on unwinding.
    struct Restore<'a>(&'a Cell<Budget>, Budget);
    impl Drop for Restore<'_> {
        #[inline(always)]
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    // All threads of a model share a thread-local of std.
    if cfg!(brigade_loom) {
        return (poll(), false);
    }
    CURRENT.with(|current| {
        let budget = Budget { must_stop: Some(must_stop), left: OPERATIONS, has_yielded: false };
        let _restore = Restore(current, current.replace(budget));
        let result = poll();
        (result, current.get().has_yielded)
    })
}

/// Calls `poll`, which polls a future outside of pools. Also returns whether an operation has yielded.
///
/// ```
/// use brigade_sync::budget::{Turn, poll_limited};
/// use std::task::{Context, Waker};
/// let context = Context::from_waker(Waker::noop());
/// let ready = || (0..1000).filter(|_| Turn::default().poll_ready(&context).is_ready()).count();
/// assert_eq!(ready(), 1000, "there is no limit");
/// assert_eq!(poll_limited(ready), (985, true), "one in 66 has yielded");
/// ```
pub fn poll_limited<R>(poll: impl FnOnce() -> R) -> (R, bool) {
    poll_task(|| false, poll)
}

/// The turn of an operation, which tells whether it must yield. When the budget is used up, the operation that asks next may be the same
/// in each poll: the time limit around a loop of 64 operations, for example. So an operation that has yielded is not held up again.
#[derive(Debug, Default)]
pub struct Turn {
    /// Ordering: Relaxed, as it says only whether to yield.
    has_yielded: AtomicBool,
}

impl Turn {
    /// Called before the operation: wakes the task and is pending if it must yield. An operation that is ready then, be it with an error,
    /// must be [counted](count).
    #[inline]
    pub fn poll_begin(&self, context: &Context<'_>) -> Poll<()> {
        CURRENT.with(|current| {
            let budget = current.get();
            let Some(must_stop) = budget.must_stop else { return Poll::Ready(()) };
            let has_yielded = self.has_yielded.load(Relaxed);
            let yields =
                budget.left != YIELDED && (must_stop() || budget.left == 0 && !has_yielded);
            if yields != has_yielded {
                self.has_yielded.store(yields, Relaxed);
            }
            if !yields {
                return Poll::Ready(());
            }
            current.set(Budget { left: YIELDED, has_yielded: true, ..budget });
            context.waker().wake_by_ref();
            note(|| Awaited::Turn);
            Poll::Pending
        })
    }

    /// Called in place of both for an operation that is ready and has no effect yet.
    #[inline]
    pub fn poll_ready(&self, context: &Context<'_>) -> Poll<()> {
        self.poll_begin(context).map(|()| count())
    }
}

/// Counts a ready operation.
#[inline]
pub fn count() {
    CURRENT.with(|current| {
        let budget = current.get();
        current.set(Budget { left: budget.left.saturating_sub(1), ..budget });
    });
}

/// Awaited before an operation that does not wait: yields if it must, and counts the operation.
pub async fn begin() {
    let turn = Turn::default();
    core::future::poll_fn(|context| turn.poll_ready(context)).await;
}
