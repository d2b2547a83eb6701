//! A future as a job: polled each time somebody has woken it, with the same handle as a closure's.
//!
//! The allocation, its count of references and the wakers are those of [`async_task`]. What it calls a task's metadata is
//! the [`Seat`] here: the header that a [`JoinHandle`] knows, and the outcome. So the handle of a future is that of a
//! closure, waits on the same word and is covered by the same models.
//!
//! `async_task` aborts the process if a future's or a waker's drop panics. Here none reaches it: the [`Polled`] that it polls
//! contains whatever the user's future does, and who waits for the outcome is woken by us.
//!
//! **Stage rule.** The outcome is written by the [`Polled`] before `DONE` is set, then belongs to the owner of the outcome;
//! the state of the cell says who that is. **Keep rule.** `async_task`'s own handle lies in the seat and keeps it from being
//! freed until both sides, the future and the handle, have released it; whoever is last takes it out. **Pin rule.** The
//! user's future is not moved once it has been polled; before that it may be, as nobody has pinned it.

mod local;
mod polled;

use core::any::{Any, TypeId};
use core::cell::Cell;
use core::future::Future;
use core::ptr::{self, NonNull};
use core::task::Waker;

use async_task::{Builder, Runnable, ScheduleInfo, Task, WithInfo};
use brigade_sync::cell::UnsafeCell;

use crate::cell::{Header, VTable};
use crate::job::{Action, Job, Payload, Ran};
use crate::join::{JoinError, JoinHandle};
use local::Local;
use polled::Polled;

/// Who runs a future.
pub trait Home: Copy + Send + Sync + 'static {
    /// Takes a job that polls a woken future to where it is run; if nobody will run it, drops it, which cancels the
    /// future. `again` says that it was woken while it was polled: others should come first.
    ///
    /// Called by whoever wakes it, or by the thread that has just polled it.
    fn wake(self, job: Job, again: bool);

    /// Hears that the future with this number has ended, once; `unclaimed` is what it panicked with, if no handle takes that.
    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>);
}

/// What the future and its handle share.
#[repr(C)]
struct Seat<T, H> {
    /// First: a pointer to it is one to the seat.
    header: Header,
    /// Stage rule.
    outcome: UnsafeCell<Option<Result<T, JoinError>>>,
    /// Keep rule.
    keep: UnsafeCell<Option<Task<(), Self>>>,
    home: H,
}

// SAFETY: the outcome moves from the thread that polls to the one that has the handle, one at a time (Stage rule); the
// handle that keeps it is `Send` and touched by one thread (Keep rule); the header is the state word and a waker.
unsafe impl<T: Send, H: Sync> Sync for Seat<T, H> {}
// SAFETY: as above; a waker and a boxed panic are `Send`.
unsafe impl<T: Send, H: Send> Send for Seat<T, H> {}

impl<T, H: Home> Seat<T, H> {
    fn new(home: H) -> Self {
        let vtable = const { &VTable { take: take::<T, H>, settle, free: free::<T, H> } };
        Self {
            header: Header::of_future(vtable),
            outcome: UnsafeCell::new(None),
            keep: UnsafeCell::new(None),
            home,
        }
    }

    /// Exchanges the outcome.
    ///
    /// # Safety
    /// Stage rule: the caller ends the future and has not set `DONE`, or owns the outcome.
    unsafe fn replace(
        &self,
        outcome: Option<Result<T, JoinError>>,
    ) -> Option<Result<T, JoinError>> {
        self.outcome.with_mut(|place| {
            // SAFETY: Stage rule, by the caller.
            core::mem::replace(unsafe { &mut *place }, outcome)
        })
    }
}

/// A future as a job, the handle for its outcome, and a waker for whoever ends the pool.
pub struct Spawned<T> {
    /// Polls it for the first time.
    pub job: Job,
    /// For the outcome.
    pub handle: JoinHandle<T>,
    /// Wakes it, as those do that the future is given.
    pub waker: Waker,
}

impl<T: Send + 'static> Spawned<T> {
    /// Makes a job of a future; `guard` is dropped before it is polled for the first time, or with it. One allocation, and
    /// one more for a future of 2 KiB or more.
    ///
    /// ```
    /// use brigade_task::{Home, Job, Ran, Spawned};
    /// use std::sync::Mutex;
    /// static WOKEN: Mutex<Vec<Job>> = Mutex::new(Vec::new());
    /// #[derive(Clone, Copy)]
    /// struct Queue;
    /// impl Home for Queue {
    ///     fn wake(self, job: Job, _: bool) {
    ///         WOKEN.lock().unwrap().push(job);
    ///     }
    ///     fn ended(self, _: u32, ran: Ran, _: Option<Box<dyn std::any::Any + Send>>) {
    ///         assert_eq!(ran, Ran::Returned);
    ///     }
    /// }
    /// let mut left = 1;
    /// let future = std::future::poll_fn(move |context| {
    ///     context.waker().wake_by_ref();
    ///     left -= 1;
    ///     if left < 0 { std::task::Poll::Ready(42) } else { std::task::Poll::Pending }
    /// });
    /// let Spawned { job, mut handle, .. } = Spawned::new(future, (), Queue);
    /// job.run();
    /// assert!(handle.try_join().is_none(), "it is pending, and has been woken");
    /// let again = WOKEN.lock().unwrap().pop().unwrap();
    /// again.run();
    /// assert_eq!(handle.join().unwrap(), 42);
    /// ```
    pub fn new<F, G, H>(future: F, guard: G, home: H) -> Self
    where
        F: Future<Output = T> + Send + 'static,
        G: Send + 'static,
        H: Home,
    {
        // SAFETY: all of it is `Send`.
        unsafe { Self::new_unchecked(future, guard, home) }
    }
}

impl<T: 'static> Spawned<T> {
    /// Makes a job of a future that need not be `Send`. Its home runs or drops the job on this thread, wherever it is woken;
    /// elsewhere the future is not polled but panics, and is not dropped but leaked.
    ///
    /// ```
    /// use brigade_task::{Home, Job, JoinError, Ran, Spawned};
    /// use std::rc::Rc;
    /// #[derive(Clone, Copy)]
    /// struct Nobody;
    /// impl Home for Nobody {
    ///     fn wake(self, _: Job, _: bool) {}
    ///     fn ended(self, _: u32, _: Ran, _: Option<Box<dyn std::any::Any + Send>>) {}
    /// }
    /// let here = Rc::new(42);
    /// let Spawned { job, handle, .. } = Spawned::local(async { here }, Nobody);
    /// job.run();
    /// assert_eq!(*handle.join().unwrap(), 42);
    /// ```
    pub fn local<F, H>(future: F, home: H) -> Self
    where
        F: Future<Output = T> + 'static,
        H: Home,
    {
        // SAFETY: the future is touched on this thread alone (Thread rule of `local`). So it is there that it comes to
        // something, and its handle is as little `Send` as that.
        unsafe { Self::new_unchecked(Local::new(future), (), home) }
    }

    /// # Safety
    /// The future and its guard are `Send`, or see to it that they are touched on one thread alone; the same goes for what the
    /// future comes to, which is touched where the future is polled and where the handle is.
    unsafe fn new_unchecked<F, G, H>(future: F, guard: G, home: H) -> Self
    where
        F: Future<Output = T> + 'static,
        G: 'static,
        H: Home,
    {
        let schedule = WithInfo(schedule::<T, H>);
        let polled = |seat| Polled::new(seat, guard, future);
        // SAFETY: what the future borrows is its metadata, all else of it is `'static`, and it may be sent, by the caller;
        // so may what schedules it, which is a function.
        let (runnable, task) = unsafe {
            Builder::new().metadata(Seat::<T, H>::new(home)).spawn_unchecked(polled, schedule)
        };
        let seat = NonNull::from(runnable.metadata());
        // SAFETY: the runnable keeps it.
        unsafe { seat.as_ref() }.keep.with_mut(|keep| {
            // SAFETY: Keep rule: nobody else has the seat yet.
            unsafe { *keep = Some(task) };
        });
        let waker = runnable.waker();
        // SAFETY: the seat is one for outcomes of type `T`, and this is its one handle.
        let handle = unsafe { JoinHandle::from_raw(seat.cast()) };
        Self { job: resume(runnable), handle, waker }
    }
}

/// Takes a woken future to its home.
fn schedule<T: 'static, H: Home>(runnable: Runnable<Seat<T, H>>, info: ScheduleInfo) {
    let home = runnable.metadata().home;
    home.wake(resume(runnable), info.woken_while_running);
}

/// What a job is that polls a future: for the first time, or again.
struct First;
struct Resumption;

/// Makes a job that polls a future once.
fn resume<T: 'static, H: Home>(runnable: Runnable<Seat<T, H>>) -> Job {
    // SAFETY: a pointer is one word, and `act` is the function of that runnable.
    unsafe { Job::from_raw(act::<T, H>, runnable.into_raw()) }
}

/// The function of a job whose payload is a runnable. However it goes, the future's own end is what counts.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` is as the action says.
unsafe fn act<T: 'static, H: Home>(payload: *mut Payload, action: Action, out: *mut ()) -> Ran {
    // SAFETY: Payload rule: the pointer of a runnable lies there.
    let pointer = unsafe { payload.cast::<NonNull<()>>().read() };
    // SAFETY: it came from a runnable of this type, which is consumed once: below, if the action is to.
    let runnable = unsafe { Runnable::<Seat<T, H>>::from_raw(pointer) };
    match action {
        Action::Identify => {
            let has_been_polled = runnable.metadata().header.has_been_polled();
            let id =
                if has_been_polled { TypeId::of::<Resumption>() } else { TypeId::of::<First>() };
            core::mem::forget(runnable);
            // SAFETY: `out` is a `TypeId`, by the caller.
            unsafe { out.cast::<TypeId>().write(id) };
        }
        Action::Run => _ = runnable.run(),
        _ => drop(runnable),
    }
    Ran::Elsewhere
}

impl Job {
    /// Whether it polls a future that has been polled before.
    pub fn is_resumption(&self) -> bool {
        self.identify() == TypeId::of::<Resumption>()
    }

    /// Whether it polls a future.
    pub fn is_future(&self) -> bool {
        let id = self.identify();
        id == TypeId::of::<First>() || id == TypeId::of::<Resumption>()
    }

    /// Gives a future back that has not been polled; its handle hears that it was cancelled, and its home nothing.
    ///
    /// # Errors
    /// Gives the job back if it does not poll a future, or one that has been polled.
    ///
    /// # Panics
    /// If its future is not an `F`.
    pub fn into_future<F: 'static>(self) -> Result<F, Self> {
        if self.identify() != TypeId::of::<First>() {
            return Err(self);
        }
        let mut out = None::<F>;
        let former = OUT.with(|place| place.replace(Some(ptr::from_mut::<dyn Any>(&mut out))));
        self.run();
        OUT.with(|place| place.set(former));
        match out {
            Some(future) => Ok(future),
            None => panic!("it is another future"),
        }
    }
}

#[cfg(not(brigade_loom))]
std::thread_local! {
    /// Where the future goes that this thread would poll next, if it is to be given back instead: an `Option` of it.
    static OUT: Cell<Option<*mut dyn Any>> = const { Cell::new(None) };
}
#[cfg(brigade_loom)]
brigade_sync::thread_local! {
    /// As above; loom knows no `const` here.
    static OUT: Cell<Option<*mut dyn Any>> = Cell::new(None);
}

/// Moves the outcome to `out`.
///
/// # Safety
/// The seat has these types, `DONE` is set, the caller is the handle and has not taken it before.
unsafe fn take<T, H: Home>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the types are right, by the caller; Keep rule.
    let seat = unsafe { header.cast::<Seat<T, H>>().as_ref() };
    // SAFETY: Stage rule: the outcome is the handle's.
    let Some(outcome) = (unsafe { seat.replace(None) }) else {
        unreachable!("an outcome is taken once")
    };
    // SAFETY: `out` is room for an outcome, by the caller.
    unsafe { out.cast::<Result<T, JoinError>>().write(outcome) };
}

/// A future is claimed from the beginning: only the one who polls it ends it.
///
/// # Safety
/// None.
unsafe fn settle(_: NonNull<Header>, _: bool) -> Ran {
    unreachable!("a future is claimed when it is made")
}

/// Lets the seat go.
///
/// # Safety
/// The seat has these types, and both sides have been released.
unsafe fn free<T, H: Home>(header: NonNull<Header>) {
    // SAFETY: the types are right, by the caller; Keep rule.
    let seat = unsafe { header.cast::<Seat<T, H>>().as_ref() };
    let keep = seat.keep.with_mut(|keep| {
        // SAFETY: Keep rule: both sides have been released, and we are whoever was last.
        unsafe { &mut *keep }.take()
    });
    // The seat may be gone when this returns.
    keep.into_iter().for_each(Task::detach);
}
