//! The handle for a job's outcome.

use core::any::Any;
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::time::Instant;

use brigade_sync::Parker;

use crate::cell::{Header, JobId, RawHandle};
use crate::job::Ran;

/// Why a job has no value.
pub enum JoinError {
    /// It panicked; this is what it panicked with.
    Panicked(Box<dyn Any + Send>),
    /// It was dropped before it ran; a future, before it was ready.
    Cancelled,
    /// Whoever asked would have waited for ever; the job goes on.
    WouldDeadlock,
}

impl JoinError {
    /// The message of a panic, if it was made with a string.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Panicked(payload) => payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str)),
            Self::Cancelled | Self::WouldDeadlock => None,
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(_) => f.debug_tuple("Panicked").field(&self.message()).finish(),
            Self::Cancelled => f.write_str("Cancelled"),
            Self::WouldDeadlock => f.write_str("WouldDeadlock"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.message()) {
            (Self::Cancelled, _) => f.write_str("the job was cancelled before it ran"),
            (Self::WouldDeadlock, _) => f.write_str(
                "nobody would end the job: it waits, itself or through others, for the one that asks for its outcome, so let \
                 one of them go on without the other; or all threads that its pool may have wait in such joins, so give it \
                 more spare threads or await the outcome",
            ),
            (Self::Panicked(_), Some(message)) => write!(f, "the job panicked: {message}"),
            (Self::Panicked(_), None) => f.write_str("the job panicked"),
        }
    }
}

impl std::error::Error for JoinError {}

/// A handle for the outcome of one job.
///
/// Wait for it with [`join`](Self::join), or `.await` it. Dropping it detaches: the job runs all the same.
pub struct JoinHandle<T> {
    cell: RawHandle,
    /// Whether the outcome has been taken.
    taken: bool,
    outcome: PhantomData<fn() -> T>,
}

// SAFETY: the handle moves a `T` out of the cell to the thread that it is on, and drops it there. All
// else in the cell is the state word, a waker (`Send`) and a closure that was `Send`.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle can only look at the state word.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

/// A parker as a waker.
#[derive(Default)]
struct ThreadWaker(Parker);

#[cfg(not(brigade_loom))]
std::thread_local! {
    /// This thread's waker, kept from one wait to the next: a wait allocates nothing.
    static KEPT: Cell<Option<Arc<ThreadWaker>>> = const { Cell::new(None) };
}
#[cfg(brigade_loom)]
brigade_sync::thread_local! {
    /// As above; loom knows no `const` here.
    static KEPT: Cell<Option<Arc<ThreadWaker>>> = Cell::new(None);
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<T> JoinHandle<T> {
    /// Makes the handle of a cell.
    ///
    /// # Safety
    /// The cell was allocated for outcomes of type `T`, and this is its one handle.
    pub(crate) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Self { cell: RawHandle::new(header), taken: false, outcome: PhantomData }
    }

    /// Waits until the job is done and takes the outcome.
    ///
    /// Everything the job did happens before this returns, and its captures have been dropped.
    ///
    /// # Errors
    /// [`JoinError::Panicked`] with the payload, or [`JoinError::Cancelled`]. Never [`JoinError::WouldDeadlock`]: who waits for
    /// itself here does so for ever.
    ///
    /// # Panics
    /// If the outcome was taken before.
    pub fn join(mut self) -> Result<T, JoinError> {
        self.wait();
        match self.try_join() {
            Some(outcome) => outcome,
            None => panic!("the outcome has been taken already"),
        }
    }

    /// Takes the outcome if it is there; never blocks. `None` too once it has been taken.
    pub fn try_join(&mut self) -> Option<Result<T, JoinError>> {
        if self.taken || !self.cell.is_done() {
            return None;
        }
        let mut outcome = MaybeUninit::<Result<T, JoinError>>::uninit();
        self.taken = true;
        // SAFETY: it is done, it had not been taken, and the cell is one of `T` (`from_raw`).
        unsafe { self.cell.take(outcome.as_mut_ptr().cast()) };
        // SAFETY: `take` wrote it.
        Some(unsafe { outcome.assume_init() })
    }

    /// Waits for the outcome for `timeout` at most and takes it.
    ///
    /// `None` if it is not there by then, no earlier than asked, or has been taken before.
    pub fn join_timeout(&mut self, timeout: Duration) -> Option<Result<T, JoinError>> {
        self.wait_for(Some(timeout));
        self.try_join()
    }

    /// Waits until the outcome is there, and leaves it there.
    pub fn wait(&mut self) {
        self.wait_for(None);
    }

    /// Names the job among those that are running or have a handle.
    pub fn id(&self) -> JobId {
        self.cell.id()
    }

    /// Whether the outcome is there, taken or not.
    pub fn is_finished(&self) -> bool {
        self.cell.is_done()
    }

    /// Runs the closure on this thread, or cancels it with `run` false or if it [may not start](crate::Work::may_start),
    /// if nobody has begun to run it, and says how it ended; `None` if somebody has.
    ///
    /// The job in the queue then has nothing left to do.
    pub fn settle_if_unclaimed(&mut self, run: bool) -> Option<Ran> {
        self.cell.settle_if_unclaimed(run)
    }

    /// Asks a closure that somebody has begun to run to stop: [`is_cancelled`](crate::is_cancelled) tells it.
    ///
    /// What happened before this call happens before the closure sees it. Means nothing to a job that has ended.
    ///
    /// A future is woken for that, not polled again, and cancelled. `true` if it had not ended, and nobody has asked before:
    /// then it is cancelled for certain.
    pub fn ask_to_stop(&mut self) -> bool {
        self.cell.ask_to_stop()
    }

    /// Whether the job is a future.
    pub fn is_of_future(&self) -> bool {
        self.cell.is_of_future()
    }

    /// Has `waker` woken when the outcome is there, in place of any that was left before; `false` if it is there
    /// already, and then nobody wakes it.
    ///
    /// The waker is dropped, not woken, if the handle is dropped first.
    #[must_use]
    pub fn wake_when_finished(&mut self, waker: &Waker) -> bool {
        !self.cell.is_done() && self.cell.wait_with(waker)
    }

    fn wait_for(&mut self, timeout: Option<Duration>) {
        if self.taken || self.cell.is_done() {
            return;
        }
        // Taken, so that a wait inside this one, in a destructor say, makes its own.
        let thread = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let waker = Waker::from(thread.clone());
        if self.cell.wait_with(&waker) {
            // A deadline too far to be written down is none.
            let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
            while !self.cell.is_done() {
                let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                if !thread.0.park(left) && left.is_some() {
                    break;
                }
            }
        }
        // A token that comes too late wakes the next wait for nothing, and it looks again.
        let _ = KEPT.try_with(|kept| kept.set(Some(thread)));
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// If the outcome was taken before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.taken, "the outcome has been taken already");
        if !self.cell.is_done() && self.cell.wait_with(context.waker()) {
            return Poll::Pending;
        }
        match self.try_join() {
            Some(outcome) => Poll::Ready(outcome),
            None => unreachable!("an untaken outcome of a finished job is there"),
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if !self.taken && self.cell.abandon() {
            return;
        }
        let outcome = self.try_join();
        self.cell.release();
        // User code last; its panic is none of whoever drops the handle.
        crate::drop_contained(outcome);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("is_finished", &self.is_finished()).finish()
    }
}
