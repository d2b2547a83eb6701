//! A closure in four words.
//!
//! **Payload rule.** A job's three payload words hold what its `act` function expects there. `act` is
//! called with an action that consumes them (run, drop, take) at most once.

use core::any::TypeId;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use core::ptr;

use crate::cell;
use crate::join::JoinHandle;
use crate::work::Work;

/// Three words: a closure of up to 24 bytes, or a pointer to a larger one.
pub(crate) type Payload = [MaybeUninit<usize>; 3];

/// What a job's function is asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Consume the payload by running it.
    Run,
    /// Consume the payload by dropping it; its handle hears that it was cancelled.
    Drop,
    /// Consume the payload by moving the closure to `out`, which has its type; a future says itself what `out` is.
    Take,
    /// Write the closure's [`TypeId`] to `out`.
    Identify,
}

/// What became of a job that was run or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The closure returned.
    Returned,
    /// The closure panicked, and its handle has the payload.
    Panicked,
    /// The closure was dropped without being run, or [would not start](Work::may_start).
    Cancelled,
    /// There was nothing to do: whoever waits for the outcome had run the closure already.
    Elsewhere,
}

pub(crate) type Act = unsafe fn(*mut Payload, Action, *mut ()) -> Ran;

/// A closure to run once, or to drop.
///
/// Four words. A closure of up to 24 bytes (and the alignment of a word) lies inside; a larger one is boxed.
/// Dropping a job drops its closure.
///
/// ```
/// use brigade_task::{Job, Ran};
/// use std::sync::mpsc;
/// let (sender, receiver) = mpsc::channel();
/// let job = Job::new(move || sender.send(42).unwrap());
/// assert_eq!(std::mem::size_of_val(&job), 4 * std::mem::size_of::<usize>());
/// assert_eq!(job.run(), Ran::Returned);
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
#[repr(C)]
pub struct Job {
    /// The closure, or where it is. First, so that a copy in halves of 16 bytes cuts no word of it off:
    /// a load that spans two stores waits until both have left the store buffer.
    payload: Payload,
    /// Knows what the payload is.
    act: Act,
}

// SAFETY: `new` and `with_handle` demand `Send` of what lies in the payload.
unsafe impl Send for Job {}

impl Job {
    /// Wraps a closure, or other work; allocates only if it is larger than three words.
    #[inline(always)]
    pub fn new<W: Work<Output = ()>>(work: W) -> Self {
        if size_of::<W>() <= size_of::<Payload>() && align_of::<W>() <= align_of::<Payload>() {
            // SAFETY: it fits, and `act_inline::<W>` expects a `W`.
            unsafe { Self::from_raw(act_inline::<W>, work) }
        } else {
            // SAFETY: a box is one word, and `act_boxed::<W>` expects a `Box<W>`.
            unsafe { Self::from_raw(act_boxed::<W>, Box::new(work)) }
        }
    }

    /// Wraps a closure, or other work, together with a handle for its outcome; both share one allocation.
    ///
    /// ```
    /// let (job, mut handle) = brigade_task::Job::with_handle(|| 6 * 7);
    /// assert!(handle.try_join().is_none());
    /// job.run();
    /// assert_eq!(handle.try_join().unwrap().unwrap(), 42);
    /// ```
    pub fn with_handle<W, T>(work: W) -> (Self, JoinHandle<T>)
    where
        W: Work<Output = T>,
        T: Send + 'static,
    {
        let (act, pointer) = cell::allocate(work);
        // SAFETY: a pointer is one word, and `act` is the function of that cell.
        let job = unsafe { Self::from_raw(act, pointer) };
        // SAFETY: the cell was made for one job and one handle of type `T`.
        (job, unsafe { JoinHandle::from_raw(pointer) })
    }

    /// Puts a function and its payload together.
    ///
    /// # Safety
    /// `P` fits the payload, and `act` expects a `P` there.
    #[inline(always)]
    pub(crate) unsafe fn from_raw<P>(act: Act, value: P) -> Self {
        let mut words: Payload = [MaybeUninit::uninit(); 3];
        // SAFETY: it fits, by the caller.
        unsafe { ptr::from_mut(&mut words).cast::<P>().write(value) };
        // Word by word, so that the optimiser keeps the words in registers until they are written to a
        // queue's slot. As one copy it would go through memory, where its wide loads wait for the narrow
        // stores that made the closure.
        Self { payload: [words[0], words[1], words[2]], act }
    }

    /// Runs the closure, if it [may start](Work::may_start); else drops it, and contains a panic of that.
    ///
    /// # Panics
    /// If the closure does and no handle is there to take the payload.
    #[inline]
    pub fn run(self) -> Ran {
        self.consume(Action::Run, ptr::null_mut())
    }

    /// Drops the closure; its handle, if there is one, hears `Cancelled`.
    ///
    /// # Panics
    /// If the drop of a capture does; the handle has heard by then.
    pub fn cancel(self) -> Ran {
        self.consume(Action::Drop, ptr::null_mut())
    }

    /// Gives the closure back.
    ///
    /// # Errors
    /// Gives the job back if its closure is not an `F`.
    ///
    /// # Panics
    /// If the closure has been run by the one who waits for it.
    pub fn into_closure<F: 'static>(self) -> Result<F, Self> {
        if self.identify() != TypeId::of::<F>() {
            return Err(self);
        }
        let mut closure = MaybeUninit::<F>::uninit();
        let taken = self.consume(Action::Take, closure.as_mut_ptr().cast());
        assert!(taken == Ran::Cancelled, "the closure has been run by the one who waits for it");
        // SAFETY: it is an `F`, and `Take` says that it moved it here.
        Ok(unsafe { closure.assume_init() })
    }

    /// Takes what it is made of to `out`.
    pub(crate) fn take_to(self, out: *mut ()) -> Ran {
        self.consume(Action::Take, out)
    }

    /// Says what it is made of.
    pub(crate) fn identify(&self) -> TypeId {
        let mut id = TypeId::of::<()>();
        let payload = ptr::from_ref(&self.payload).cast_mut();
        // SAFETY: Payload rule; the payload is only looked at, and `out` is a `TypeId`.
        unsafe { (self.act)(payload, Action::Identify, ptr::from_mut(&mut id).cast()) };
        id
    }

    #[inline]
    fn consume(self, action: Action, out: *mut ()) -> Ran {
        let mut this = ManuallyDrop::new(self);
        let act = this.act;
        // SAFETY: Payload rule; `self` is gone, so this is the one action that consumes it.
        unsafe { act(&mut this.payload, action, out) }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: Payload rule; `consume` takes `self` without dropping it.
        unsafe { (self.act)(&mut self.payload, Action::Drop, ptr::null_mut()) };
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

/// The function of a job whose payload is an `F`.
///
/// # Safety
/// Payload rule; `out` is as the action says.
unsafe fn act_inline<F: Work<Output = ()>>(
    payload: *mut Payload,
    action: Action,
    out: *mut (),
) -> Ran {
    let closure = payload.cast::<F>();
    // SAFETY: Payload rule: an `F` lies there, and this action may be the one that consumes it.
    unsafe { act_on(closure, action, out) }
}

/// The function of a job whose payload is a `Box<F>`.
///
/// # Safety
/// Payload rule; `out` is as the action says.
unsafe fn act_boxed<F: Work<Output = ()>>(
    payload: *mut Payload,
    action: Action,
    out: *mut (),
) -> Ran {
    /// Frees the box and leaves its content alone.
    struct Free<F>(*mut F);
    impl<F> Drop for Free<F> {
        fn drop(&mut self) {
            // SAFETY: it came from a `Box<F>`, whose content has been moved out or dropped.
            drop(unsafe { Box::from_raw(self.0.cast::<ManuallyDrop<F>>()) });
        }
    }
    // SAFETY: Payload rule: a `Box<F>` lies there, which is a pointer to an `F`.
    let closure = unsafe { payload.cast::<*mut F>().read() };
    let _free = (action != Action::Identify).then(|| Free(closure));
    // SAFETY: Payload rule, as above.
    unsafe { act_on(closure, action, out) }
}

/// Does what `action` says with a closure.
///
/// # Safety
/// `closure` points to an `F` that nobody uses after an action that consumes it; `out` is as the action says.
#[inline]
unsafe fn act_on<F: Work<Output = ()>>(closure: *mut F, action: Action, out: *mut ()) -> Ran {
    match action {
        Action::Run => {
            // SAFETY: by the caller; read once.
            let closure = unsafe { closure.read() };
            if !closure.may_start() {
                crate::drop_contained(closure);
                return Ran::Cancelled;
            }
            closure.run();
            Ran::Returned
        }
        Action::Drop => {
            // SAFETY: by the caller; dropped once.
            unsafe { closure.drop_in_place() };
            Ran::Cancelled
        }
        Action::Take => {
            // SAFETY: by the caller: `out` is room for an `F`.
            unsafe { out.cast::<F>().copy_from_nonoverlapping(closure, 1) };
            Ran::Cancelled
        }
        Action::Identify => {
            // SAFETY: by the caller: `out` is a `TypeId`.
            unsafe { out.cast::<TypeId>().write(TypeId::of::<F>()) };
            Ran::Elsewhere
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests;
