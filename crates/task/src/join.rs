//! The handle for a job's result.

use core::cell::{Cell, RefCell};
use core::future::Future;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::ops::Deref;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};

use crate::act::{Asked, Outcome};
use crate::canceller::Canceller;
use crate::cause::Cause;
use crate::cell::state::HANDLE;
use crate::cell::{Header, JobId, RawHandle};
use crate::contain::drop_contained;
use crate::error::JoinError;

/// The handle of a job, whatever the type of the result.
pub struct JobHandle(RawHandle);

impl JobHandle {
    /// Returns the id of the job.
    pub fn id(&self) -> JobId {
        self.0.id()
    }

    /// Returns whether the job has ended, even if the result has been taken.
    pub fn is_finished(&self) -> bool {
        self.0.is_done()
    }

    /// Completes an unclaimed closure, or polls a queued future, on this thread. Returns the outcome.
    ///
    /// The closure runs if it [may start](crate::Work::may_start), or is cancelled for the cause `stop`. Returns
    /// `None` if another thread has begun to run or drop it. The job in the queue becomes [stale](Outcome::Stale).
    /// An unpolled future whose guard [decides](crate::Guard::decides) is left to its job. A local future must be on
    /// this thread.
    pub fn settle_if_unclaimed(&self, stop: Option<Cause>) -> Option<Outcome> {
        self.0.settle_if_unclaimed(stop)
    }

    /// Asks a running closure to stop; the closure sees the request by [`is_cancelled`](crate::is_cancelled).
    ///
    /// Everything before this call happens before the closure sees the request. Has no effect on a finished job.
    ///
    /// A future is woken, not polled again, and cancelled. An unpolled future that is not local is dropped by this
    /// call if `may_drop`.
    pub fn ask_to_stop(&self, may_drop: bool) -> Asked {
        self.0.request_stop(may_drop, Cause::Asked)
    }

    /// Returns a canceller, for cancelling the job from another place. Returns `None` while a canceller exists.
    pub fn canceller(&self) -> Option<Canceller> {
        self.0.canceller().map(Canceller::new)
    }

    /// Returns whether the job is a future, ready for a poll by [`settle_if_unclaimed`](Self::settle_if_unclaimed).
    pub fn is_queued(&self) -> bool {
        self.0.is_queued()
    }

    /// Returns the class of the job: a number from 0 to 3 that the scheduler has [noted](crate::Job::note_class) or
    /// [raised](crate::Job::raised), 0 by default.
    pub fn class(&self) -> u8 {
        self.0.class()
    }

    /// Returns the handle's side of the cell.
    pub(crate) fn side(&self) -> &RawHandle {
        &self.0
    }

    /// Returns whether the job is a future.
    pub fn is_of_future(&self) -> bool {
        self.0.is_of_future()
    }
}

/// The exclusive use of a handle, by a thread that waits for the job, whatever the type of the result.
pub struct JobWaiter<'a>(&'a JobHandle);

impl Deref for JobWaiter<'_> {
    type Target = JobHandle;

    fn deref(&self) -> &JobHandle {
        self.0
    }
}

impl JobWaiter<'_> {
    /// Wakes `waker` when the job has ended, in place of any waker stored or [set](crate::Completions) entered
    /// before. Returns `false` if the job has already ended, and then `waker` is not woken.
    ///
    /// If the handle is dropped first, the waker is dropped and not woken.
    #[must_use]
    pub fn wake_when_finished(&mut self, waker: &Waker) -> bool {
        !self.is_finished() && self.0.0.wait_with(waker)
    }
}

/// A handle for the result of a job.
///
/// `.await` waits for the result; a thread waits by [`wake_when_finished`](Self::wake_when_finished). Dropping the handle
/// detaches the job, which still runs.
pub struct JoinHandle<T> {
    job: JobHandle,
    /// Whether the result has been taken.
    taken: bool,
    result: PhantomData<fn() -> T>,
}

// SAFETY: the handle moves a `T` out of the cell to the handle's thread and drops it there. The rest of the cell
// is the state, a waker (`Send`) and a `Send` closure.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle looks at the state, or does as a canceller: it claims the closure, which is `Send`, or the future, whose access the
// lifecycle gives to a single thread, and which checks the thread if it is local.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Creates the handle of a cell.
    ///
    /// # Safety
    /// The cell must have been allocated for results of type `T`, and have no other handle.
    pub(crate) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Self { job: JobHandle(RawHandle::new(header)), taken: false, result: PhantomData }
    }

    /// Returns the handle's side of the cell.
    pub(crate) fn raw(&self) -> &RawHandle {
        &self.job.0
    }

    /// Takes the result of an ended job.
    ///
    /// Everything the job did happens before this returns, and the captures have been dropped.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload, or [`JoinError::Cancelled`]. Never [`JoinError::WouldDeadlock`].
    ///
    /// # Panics
    /// If the job has not ended, or the result was taken before.
    #[track_caller]
    pub fn join(mut self) -> Result<T, JoinError> {
        match self.try_join() {
            Some(result) => result,
            None => {
                panic!("`JoinHandle` used after its result was taken, or too early")
            }
        }
    }

    /// Takes the result if the job has ended; never blocks. Returns `None` if the job has not ended, or if the result
    /// was taken before.
    pub fn try_join(&mut self) -> Option<Result<T, JoinError>> {
        if self.taken || !self.is_finished() {
            return None;
        }
        let mut result = MaybeUninit::<Result<T, JoinError>>::uninit();
        self.taken = true;
        // SAFETY: the result has been written, had not been taken, and is a `T` (`from_raw`).
        unsafe { self.job.0.take(result.as_mut_ptr().cast()) };
        // SAFETY: `take` wrote it.
        Some(unsafe { result.assume_init() })
    }

    /// Returns the exclusive use of the handle, for a wait.
    pub fn waiter(&mut self) -> JobWaiter<'_> {
        JobWaiter(&self.job)
    }

    /// Wakes `waker` when the job has ended: see [`JobWaiter::wake_when_finished`].
    #[must_use]
    pub fn wake_when_finished(&mut self, waker: &Waker) -> bool {
        self.waiter().wake_when_finished(waker)
    }

    /// Returns whether the result has been taken.
    pub fn is_taken(&self) -> bool {
        self.taken
    }

    /// Completes an unclaimed closure of a [set](crate::Completions), on this thread, and removes it from the
    /// set: the set does not list the completion. Otherwise as
    /// [`settle_if_unclaimed`](JobHandle::settle_if_unclaimed).
    ///
    /// Also returns `None` if the closure is in no set.
    pub fn leave_and_settle(&mut self, stop: Option<Cause>) -> Option<Outcome> {
        self.job.0.leave_and_settle(stop)
    }

    /// Takes the job out of the [set](crate::Completions), and drops a waker waiting for the job. Returns `false` if
    /// the job has ended: then the set lists it.
    #[must_use]
    pub fn leave(&mut self) -> bool {
        self.job.0.leave()
    }
}

impl<T> Deref for JoinHandle<T> {
    type Target = JobHandle;

    fn deref(&self) -> &JobHandle {
        &self.job
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If the result was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.taken, "`JoinHandle` polled after completion");
        if !self.is_finished() && self.job.0.await_with(context.waker()) {
            return Poll::Pending;
        }
        match self.try_join() {
            Some(result) => Poll::Ready(result),
            None => unreachable!("the job has ended and its result has not been taken"),
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if !self.taken {
            if !self.job.0.abandon() {
                self.drop_result();
            }
            return;
        }
        // SAFETY: Life rule: the result has been taken, and the handle is not used again.
        unsafe { self.job.0.release(HANDLE) };
    }
}

impl<T> JoinHandle<T> {
    /// Drops the result of an ended job, and releases the handle's side; the handle must not be used again.
    #[cold]
    fn drop_result(&mut self) {
        // SAFETY: Life rule: the handle is not used again.
        let cell = unsafe { self.job.0.duplicate() };
        let ended = Ended { cell, finish: finish::<T> };
        if const { mem::needs_drop::<T>() } { ended.drop_nested() } else { ended.finish() }
    }
}

/// Drops the result of an ended job, and releases the handle's side.
///
/// # Safety
/// The cell must belong to a handle for a `T`, not yet taken. The handle must not be used again.
unsafe fn finish<T>(cell: RawHandle) {
    let mut handle = ManuallyDrop::new(JoinHandle::<T> {
        job: JobHandle(cell),
        taken: false,
        result: PhantomData,
    });
    let result = handle.try_join();
    // SAFETY: Life rule: the result has been taken, and the handle is not used again.
    unsafe { handle.job.0.release(HANDLE) };
    // User code last; a panic must not unwind out of this drop.
    drop_contained(result);
}

/// The handle's side of an ended job, without the type of the result. The type is `'static`, as for each job with a handle.
struct Ended {
    cell: RawHandle,
    finish: unsafe fn(RawHandle),
}

/// The maximum nesting of results that own handles of further results; a longer chain is dropped in a loop.
const DEPTH: usize = 16;

brigade_sync::unmodelled::thread_local! {
    /// How many drops of results lie on this thread's stack.
    static DROPS: Cell<usize> = const { Cell::new(0) };
    /// The results to be dropped once the innermost drop has ended.
    static DEFERRED: RefCell<Vec<Ended>> = const { RefCell::new(Vec::new()) };
}

impl Ended {
    fn finish(self) {
        // SAFETY: `drop_result` made it of a handle, not used again.
        unsafe { (self.finish)(self.cell) };
    }

    /// Finishes it now, or after the drops on the stack.
    fn drop_nested(self) {
        let depth = DROPS.with(Cell::get);
        let mut ended = Some(self);
        if depth == DEPTH {
            // At the end of a thread the list may have been destroyed.
            _ = DEFERRED.try_with(|list| {
                if let Some(ended) = ended.take() {
                    list.borrow_mut().push(ended);
                }
            });
        }
        let Some(ended) = ended else { return };
        DROPS.with(|drops| drops.set((depth + 1).min(DEPTH)));
        ended.finish();
        if depth + 1 == DEPTH {
            let next = || DEFERRED.try_with(|list| list.borrow_mut().pop());
            while let Ok(Some(ended)) = next() {
                ended.finish();
            }
        }
        DROPS.with(|drops| drops.set(depth));
    }
}

brigade_sync::opaque!(JobHandle: is_finished);
brigade_sync::opaque!(JobWaiter<'_>: is_finished);
brigade_sync::opaque!([T] JoinHandle<T>: is_finished);
