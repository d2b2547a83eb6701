//! A future as a job: polled each time somebody has woken it, with the same handle as a closure's.
//!
//! One allocation, the [`Task`](task::Task): the header that a [`JoinHandle`] knows, the home, and the future, or what it came
//! to in the same place. So the handle of a future is that of a closure, waits on the same word and is covered by the same
//! models. Two words say the rest: the handle's side is in [`state`](crate::cell::state), and whose turn it is at the future,
//! and why no wake is lost, in [`turn`].
//!
//! **Turn rule.** There is one job, or one who has begun the turn with it, or the future waits or has ended; [`turn`] says
//! which. Who has the turn polls the future, ends it, or makes the job again; who wakes a future that waits makes its job.
//! Once a job has been published, whoever did so touches the task no more, unless by a reference of his own.
//!
//! **Stage rule.** The future lies there until it is dropped at the end; the stage is then that one's who has the turn. He
//! writes the outcome over it before `DONE` is set; then it belongs to the owner of the outcome, who takes it out once: the
//! state says who that is. **Pin rule.** A future is not moved once it has been polled, and is dropped where it lies.
//!
//! **Life rule.** The task lives until both sides have released it. The handle's is released by the handle. The job's is
//! released by whoever gives up the last of the references, of the job and of the wakers: those are counted by the word of
//! the turn, and the last one goes only from what has ended. If it would go from what waits, that is ended first. So a future
//! that waits is dropped by its home, and never by who drops a waker.
//!
//! A future that is cancelled is asked first, then woken, through the handle, which needs no waker for that. The wake is
//! a change of the word of the turn: so if the poll before did not see that it was asked, there is another.
//!
//! User code (polls, and drops of futures, guards, outputs and wakers) runs under no lock, and its panics are contained here.
//!
//! What was built on [`async-task`](https://docs.rs/async-task) before, as this is not: 144 bytes and the future where this has
//! 48, a home that had to know each future from the start, and no models of what went on inside.

mod local;
mod store;
mod task;
mod waker;

use core::any::{Any, TypeId};
use core::future::Future;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::cell::Header;
#[cfg(doc)]
use crate::cell::turn;
use crate::job::{Action, Job, Payload, Ran};
use crate::join::JoinHandle;
use local::Local;
use store::{Boxed, Inline, Store, is_large};
use task::Mine;
pub use waker::TaskRef;

/// Who runs a future.
pub trait Home: Copy + Send + Sync + 'static {
    /// Takes a job that polls a woken future to where it is run; if nobody will run it, drops it, which cancels the
    /// future. `again` says that it was woken while it was polled: others should come first.
    ///
    /// Called by whoever wakes it, or by the thread that has just polled it.
    fn wake(self, job: Job, again: bool);

    /// Hears that a future has been polled and is about to wait, for the first time, and gives it a number, which is not 0. Who
    /// keeps the reference can wake it, to cancel it; a future to which nobody has one is cancelled.
    ///
    /// Called by the thread that has just polled it.
    fn waits(self, task: TaskRef) -> u32;

    /// Hears that the future with this number has ended, once; 0 if it never waited. `unclaimed` is what it panicked with, if
    /// no handle takes that.
    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>);
}

/// A future as a job, and the handle for its outcome.
pub struct Spawned<T> {
    /// Polls it for the first time.
    pub job: Job,
    /// For the outcome.
    pub handle: JoinHandle<T>,
}

impl<T: Send + 'static> Spawned<T> {
    /// Makes a job of a future; `guard`, of two words at most, lies in the job, and is dropped before it is polled for the first
    /// time, or with it. One allocation, and one more for a future of 2 KiB or more.
    ///
    /// ```
    /// use brigade_task::{Home, Job, Ran, Spawned, TaskRef};
    /// use std::sync::Mutex;
    /// static WOKEN: Mutex<Vec<Job>> = Mutex::new(Vec::new());
    /// #[derive(Clone, Copy)]
    /// struct Queue;
    /// impl Home for Queue {
    ///     fn wake(self, job: Job, _: bool) {
    ///         WOKEN.lock().unwrap().push(job);
    ///     }
    ///     fn waits(self, _: TaskRef) -> u32 {
    ///         unreachable!("it has been woken each time")
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
    /// use brigade_task::{Home, Job, Ran, Spawned, TaskRef};
    /// use std::rc::Rc;
    /// #[derive(Clone, Copy)]
    /// struct Nobody;
    /// impl Home for Nobody {
    ///     fn wake(self, _: Job, _: bool) {}
    ///     fn waits(self, _: TaskRef) -> u32 {
    ///         unreachable!("it is ready at once")
    ///     }
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
        let (job, task) = match const { is_large::<F>() } {
            true => queued::<Boxed<F>, G, H>(future, guard, home),
            false => queued::<Inline<F>, G, H>(future, guard, home),
        };
        // SAFETY: the task is one for outcomes of type `T`, and this is its one handle.
        Self { job, handle: unsafe { JoinHandle::from_raw(task) } }
    }
}

/// What lies in the job that polls a future for the first time.
#[repr(C)]
struct First<G> {
    task: NonNull<Header>,
    guard: G,
}

/// What is asked for by who wants a future back.
struct Wanted {
    /// The type of the future.
    id: TypeId,
    /// Room for it.
    place: *mut (),
}

/// What a job is that polls a future: for the first time, or again.
struct Fresh;
struct Resumption;

/// Allocates a future, and makes the job that polls it first.
fn queued<S: Store, G: 'static, H: Home>(
    future: S::Future,
    guard: G,
    home: H,
) -> (Job, NonNull<Header>) {
    const {
        assert!(size_of::<First<G>>() <= size_of::<Payload>(), "a guard has two words at most");
        assert!(align_of::<First<G>>() <= align_of::<Payload>(), "a guard is aligned as words are");
    }
    let task = task::allocate::<S, H>(future, home);
    // SAFETY: it fits, as was looked at above, and `act_first` is the function of such a job.
    (unsafe { Job::from_raw(act_first::<S, G, H>, First { task, guard }) }, task)
}

/// Makes a job that polls a future once more.
///
/// # Safety
/// Turn rule: the job is the caller's to make, with a reference, which the job has then. The task has these types.
unsafe fn again<S: Store, H: Home>(task: NonNull<Header>) -> Job {
    // SAFETY: a pointer is one word, and `act` is the function of such a job.
    unsafe { Job::from_raw(act::<S, H>, task) }
}

/// The function of the first job of a future. However it goes, the future's own end is what counts.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` is as the action says, but for the action that takes it is a [`Wanted`].
unsafe fn act_first<S: Store, G: 'static, H: Home>(
    payload: *mut Payload,
    action: Action,
    out: *mut (),
) -> Ran {
    if action == Action::Identify {
        // SAFETY: `out` is a `TypeId`, by the caller.
        unsafe { out.cast::<TypeId>().write(TypeId::of::<Fresh>()) };
        return Ran::Elsewhere;
    }
    // SAFETY: Payload rule: that lies there, and is used up.
    let First { task, guard } = unsafe { payload.cast::<First<G>>().read() };
    // Before the turn begins, so that the turn is all that a panic could leave undone; and contained all the same.
    crate::drop_contained(guard);
    // SAFETY: Turn rule: this is the job, and is used up.
    let mine = unsafe { Mine::<S, H>::begin(task) };
    match action {
        Action::Run => mine.poll(),
        Action::Take => {
            // SAFETY: `out` is a `Wanted`, by the caller.
            let wanted = unsafe { &*out.cast::<Wanted>() };
            if wanted.id == TypeId::of::<S::Future>() {
                // SAFETY: the place is room for a future of that type.
                let place = unsafe { &mut *wanted.place.cast::<MaybeUninit<S::Future>>() };
                // SAFETY: Pin rule: this is its first job.
                unsafe { mine.give_back(place) };
                return Ran::Cancelled;
            }
            mine.cancel();
        }
        _ => mine.cancel(),
    }
    Ran::Elsewhere
}

/// The function of a job that polls a future again.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` is as the action says.
unsafe fn act<S: Store, H: Home>(payload: *mut Payload, action: Action, out: *mut ()) -> Ran {
    if action == Action::Identify {
        // SAFETY: `out` is a `TypeId`, by the caller.
        unsafe { out.cast::<TypeId>().write(TypeId::of::<Resumption>()) };
        return Ran::Elsewhere;
    }
    // SAFETY: Payload rule: the pointer to a task lies there.
    let task = unsafe { payload.cast::<NonNull<Header>>().read() };
    // SAFETY: Turn rule: this is the job, and is used up.
    let mine = unsafe { Mine::<S, H>::begin(task) };
    match action {
        Action::Run => mine.poll(),
        _ => mine.cancel(),
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
        id == TypeId::of::<Fresh>() || id == TypeId::of::<Resumption>()
    }

    /// Gives a future back that has not been polled; its handle hears that it was cancelled, and its home nothing.
    ///
    /// # Errors
    /// Gives the job back if it does not poll a future, or one that has been polled.
    ///
    /// # Panics
    /// If its future is not an `F`.
    pub fn into_future<F: 'static>(self) -> Result<F, Self> {
        if self.identify() != TypeId::of::<Fresh>() {
            return Err(self);
        }
        let mut future = MaybeUninit::<F>::uninit();
        let place = future.as_mut_ptr().cast();
        let mut wanted = Wanted { id: TypeId::of::<F>(), place };
        let taken = self.take_to(core::ptr::from_mut(&mut wanted).cast());
        assert!(taken == Ran::Cancelled, "it is another future");
        // SAFETY: it is an `F`, and `Take` says that it moved it here.
        Ok(unsafe { future.assume_init() })
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests;
