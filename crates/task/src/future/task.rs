//! The allocation of a future, and what is done with it by who has the turn.

use core::any::Any;
use core::future::Future;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::cell::UnsafeCell;

use super::store::Store;
use super::waker::{TaskRef, with_waker};
use super::{Home, again};
use crate::cell::state::Finished;
use crate::cell::turn::Pause;
use crate::cell::{Header, VTable, running};
use crate::job::Ran;
use crate::join::JoinError;

/// What the store `S` keeps comes to.
type Output<S> = <<S as Store>::Future as Future>::Output;

/// What the future, its handle and its wakers share.
#[repr(C)]
pub(super) struct Task<S: Store, H> {
    /// First: a pointer to it is one to the task.
    header: Header,
    home: H,
    /// By which its home knows it, once it waits; 0 till then. Turn rule.
    number: UnsafeCell<u32>,
    /// Stage rule.
    stage: UnsafeCell<Stage<S, Output<S>>>,
}

/// The future, then what it came to; both at its beginning.
#[repr(C)]
union Stage<S, T> {
    future: ManuallyDrop<S>,
    outcome: ManuallyDrop<Result<T, JoinError>>,
}

/// Allocates a future, which is queued: its job has the turn.
pub(super) fn allocate<S: Store, H: Home>(future: S::Future, home: H) -> NonNull<Header> {
    let vtable = const {
        &VTable { take: take::<S, H>, settle, free: free::<S, H>, schedule: Some(schedule::<S, H>) }
    };
    let task = Box::leak(Box::<Task<S, H>>::new_uninit());
    // Written where it lies, so that the future is not built on the stack first.
    let task = task.write(Task {
        header: Header::of_future(vtable),
        home,
        number: UnsafeCell::new(0),
        stage: UnsafeCell::new(Stage { future: ManuallyDrop::new(S::new(future)) }),
    });
    NonNull::from(task).cast()
}

/// The home of a future.
///
/// # Safety
/// The task has these types, and the caller has a reference to it.
pub(super) unsafe fn home<S: Store, H: Home>(header: NonNull<Header>) -> H {
    // SAFETY: by the caller.
    unsafe { header.cast::<Task<S, H>>().as_ref() }.home
}

/// The turn at a future, and a reference to it: to be used up by one of its methods.
pub(super) struct Mine<S, H> {
    task: NonNull<Header>,
    types: PhantomData<fn() -> (S, H)>,
}

impl<S: Store, H: Home> Mine<S, H> {
    /// Begins the turn.
    ///
    /// # Safety
    /// Turn rule: the caller has the one job, and uses it up. The task has these types.
    pub(super) unsafe fn begin(task: NonNull<Header>) -> Self {
        let this = Self { task, types: PhantomData };
        this.task().header.turn.begin();
        this
    }

    fn task(&self) -> &Task<S, H> {
        // SAFETY: the types are right, and the turn has a reference, by the caller of `begin`.
        unsafe { self.task.cast::<Task<S, H>>().as_ref() }
    }

    /// Polls the future, unless it is to be cancelled; ends it if it is ready.
    pub(super) fn poll(self) {
        if self.task().header.state.is_asked() {
            return self.cancel();
        }
        let call = || running::enter(&self.task().header.state, || self.poll_future());
        match panic::catch_unwind(AssertUnwindSafe(call)) {
            Ok(Poll::Pending) => self.pause(),
            Ok(Poll::Ready(value)) => self.end(Ok(value)),
            Err(payload) => self.end(Err(JoinError::Panicked(payload))),
        }
    }

    fn poll_future(&self) -> Poll<Output<S>> {
        let poll = |waker: &_| {
            self.task().stage.with_mut(|stage| {
                // SAFETY: Stage rule: it is a future that we have the turn at.
                let future = unsafe { &mut *stage.cast::<S>() };
                // SAFETY: Pin rule: from here on it is not moved.
                unsafe { Pin::new_unchecked(future) }.pinned().poll(&mut Context::from_waker(waker))
            })
        };
        // SAFETY: Turn rule.
        unsafe { with_waker(self.task, poll) }
    }

    /// Gives up the turn at a future that goes on; its home has to know of it first, if that may wait.
    fn pause(self) {
        let Task { header, home, number, .. } = self.task();
        let home = *home;
        // Who is queued again is not waiting: its job is enough to find it by.
        if !header.turn.is_woken() {
            number.with_mut(|number| {
                // SAFETY: Turn rule.
                let number = unsafe { &mut *number };
                if *number == 0 {
                    // SAFETY: Turn rule.
                    *number = home.waits(unsafe { TaskRef::new(self.task) });
                }
            });
        }
        match header.turn.pause() {
            Pause::Waits => {}
            // The reference and the turn go with the job; we touch nothing of it from here on.
            // SAFETY: Turn rule: the job is ours to make.
            Pause::Again => home.wake(unsafe { again::<S, H>(self.task) }, true),
            Pause::Forsaken => self.cancel(),
        }
    }

    /// Drops the future without polling it.
    pub(super) fn cancel(self) {
        self.end(Err(JoinError::Cancelled));
    }

    /// Moves the future to `out`, which has its type; the handle hears that it was cancelled, and its home nothing. Not inlined:
    /// it may have room for a future on its stack.
    ///
    /// # Safety
    /// Pin rule: it has never been polled.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn give_back(self, out: &mut MaybeUninit<S::Future>) {
        self.task().stage.with_mut(|stage| {
            // SAFETY: Stage rule: it is a future that we have the turn at; what is left of it is overwritten.
            let store = unsafe { stage.cast::<S>().read() };
            // SAFETY: Pin rule, by the caller.
            unsafe { store.write_to(out) };
        });
        crate::drop_contained(self.finish(Err(JoinError::Cancelled)));
    }

    /// Ends the future: drops it, then tells the handle and the home.
    fn end(self, outcome: Result<Output<S>, JoinError>) {
        let task = self.task();
        let drop_future = || {
            task.stage.with_mut(|stage| {
                // SAFETY: Stage rule: it is a future that we have the turn at. Pin rule: it is dropped where it lies.
                unsafe { stage.cast::<S>().drop_in_place() };
            });
        };
        crate::contain(|| running::enter(&task.header.state, drop_future));
        let home = task.home;
        let number = task.number.with(|number| {
            // SAFETY: Turn rule.
            unsafe { *number }
        });
        let (ran, unclaimed) = self.finish(outcome);
        home.ended(number, ran, unclaimed);
    }

    /// Writes the outcome where the future was, tells the handle, and gives the turn's reference up. Says how it ended in the
    /// end, and what panic nobody takes.
    fn finish(self, outcome: Result<Output<S>, JoinError>) -> (Ran, Option<Box<dyn Any + Send>>) {
        let task = self.task();
        let mut ran = match &outcome {
            Ok(_) => Ran::Returned,
            Err(JoinError::Panicked(_)) => Ran::Panicked,
            Err(_) => Ran::Cancelled,
        };
        // SAFETY: Stage rule: the future is gone, and `DONE` is not set.
        unsafe { task.write(outcome) };
        let finished = task.header.state.finish_unless_asked().unwrap_or_else(|| {
            // Whoever asked was told that it is cancelled, and so is the handle. Whoever asks later comes too late.
            ran = Ran::Cancelled;
            // SAFETY: Stage rule: `DONE` is not set.
            crate::drop_contained(unsafe { task.read() });
            // SAFETY: as above.
            unsafe { task.write(Err(JoinError::Cancelled)) };
            task.header.state.finish()
        });
        let unclaimed = match finished {
            // SAFETY: Stage rule: the handle is gone, so the outcome is ours.
            Finished::Detached => Some(unsafe { task.read() }),
            Finished::Wake => {
                task.header.wake();
                None
            }
            Finished::Quiet => None,
        };
        if task.header.turn.end() {
            // SAFETY: it was the last reference.
            unsafe { Header::release_job(self.task) };
        }
        // From here on the task may be gone.
        match unclaimed {
            Some(Err(JoinError::Panicked(payload))) => (ran, Some(payload)),
            other => {
                crate::drop_contained(other);
                (ran, None)
            }
        }
    }
}

impl<S: Store, H> Task<S, H> {
    /// # Safety
    /// Stage rule: what lies there is of no use any more, and the stage is the caller's.
    unsafe fn write(&self, outcome: Result<Output<S>, JoinError>) {
        self.stage.with_mut(|stage| {
            // SAFETY: by the caller. Written over the future, without a drop.
            unsafe { stage.cast::<Result<Output<S>, JoinError>>().write(outcome) };
        });
    }

    /// # Safety
    /// Stage rule: an outcome lies there, is the caller's, and has not been read before.
    unsafe fn read(&self) -> Result<Output<S>, JoinError> {
        self.stage.with_mut(|stage| {
            // SAFETY: by the caller.
            unsafe { stage.cast::<Result<Output<S>, JoinError>>().read() }
        })
    }
}

/// Makes the job of a future that was woken, and takes it to its home.
///
/// # Safety
/// Turn rule: the job is the caller's to make, with a reference. The task has these types.
unsafe fn schedule<S: Store, H: Home>(header: NonNull<Header>) {
    // SAFETY: the types are right, by the caller; the job that we make keeps it.
    let home = unsafe { home::<S, H>(header) };
    // SAFETY: by the caller.
    home.wake(unsafe { again::<S, H>(header) }, false);
}

/// Moves the outcome to `out`.
///
/// # Safety
/// The task has these types, `DONE` is set, the caller is the handle and has not taken it before.
unsafe fn take<S: Store, H>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the types are right, by the caller; Life rule.
    let task = unsafe { header.cast::<Task<S, H>>().as_ref() };
    // SAFETY: Stage rule: the outcome is the handle's.
    let outcome = unsafe { task.read() };
    // SAFETY: `out` is room for an outcome, by the caller.
    unsafe { out.cast::<Result<Output<S>, JoinError>>().write(outcome) };
}

/// A future is claimed from the beginning: only the one who polls it ends it.
///
/// # Safety
/// None.
unsafe fn settle(_: NonNull<Header>, _: bool) -> Ran {
    unreachable!("a future is claimed when it is made")
}

/// Frees the task.
///
/// # Safety
/// The task has these types, both sides have been released, and the outcome has been taken.
unsafe fn free<S: Store, H>(header: NonNull<Header>) {
    // SAFETY: the types are right, by the caller; Life rule.
    // Touched, so that a model sees who frees it while another may still be at it.
    unsafe { header.cast::<Task<S, H>>().as_ref() }.stage.with_mut(|_| ());
    // SAFETY: it came from a box of this type, and nobody has it any more.
    drop(unsafe { Box::from_raw(header.cast::<Task<S, H>>().as_ptr()) });
}
