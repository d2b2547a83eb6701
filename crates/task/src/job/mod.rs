//! A closure in four words.
//!
//! **Payload rule.** A job's three payload words hold the content expected by its function. The function is called at most
//! once with a consuming action (run, drop, take). Other actions only read them.

use core::any::TypeId;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use core::ptr::{self, NonNull};
use std::panic;

use crate::act::{Act, Action, Outcome, Payload, inspect};
use crate::boxed::{BoxedWork, is_large};
use crate::cause::Cause;
use crate::cell::state::SECOND;
use crate::cell::{self, Header, frames};
use crate::contain::dispose;
use crate::join::JoinHandle;
use crate::region::{OfFork, OfScope};
use crate::work::Work;

/// A closure to run once, or to drop.
///
/// Four words. A closure of up to 24 bytes (and the alignment of a word) is stored inside; a larger one is boxed.
/// Dropping a job drops the closure.
///
/// ```
/// use brigade_task::{Job, Outcome};
/// use std::sync::mpsc;
/// let (sender, receiver) = mpsc::channel();
/// let job = Job::new(move || _ = sender.send(42));
/// assert_eq!(std::mem::size_of_val(&job), 4 * std::mem::size_of::<usize>());
/// assert_eq!(job.run(), Outcome::Returned);
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
#[repr(C)]
pub struct Job {
    /// The work, or a box of it.
    ///
    /// First, so a copy in halves of 16 bytes splits no word off: a load that spans two stores waits until both have
    /// left the store buffer.
    payload: Payload,
    /// The function for the payload's type.
    act: Act,
    /// Not `Sync`: `is_stale` borrows the work, which need not be.
    not_sync: PhantomData<Cell<()>>,
}

// SAFETY: `new` and `with_handle` require the payload to be `Send`.
unsafe impl Send for Job {}

impl Job {
    /// Creates a job of a closure or other work; allocates only if it is larger than three words.
    #[inline(always)]
    pub fn new<W: Work<Output = ()>>(work: W) -> Self {
        if const { fits::<W>() } {
            // SAFETY: it fits, and `act_inline::<W>` expects a `W`.
            unsafe { Self::from_raw(act_inline::<W>, work) }
        } else {
            let work = BoxedWork::new(work);
            // SAFETY: a box is one word, and `act_inline::<BoxedWork<W>>` expects a `BoxedWork<W>`.
            unsafe { Self::from_raw(act_inline::<BoxedWork<W>>, work) }
        }
    }

    /// Creates a job of a closure or other work, and a handle for the result; both share one allocation. Work of 2 KiB or more has
    /// another allocation, which is freed when the work has run or is dropped, even if the handle is kept.
    ///
    /// ```
    /// let (job, mut handle) = brigade_task::Job::with_handle(|| 6 * 7);
    /// assert!(handle.try_join().is_none());
    /// job.run();
    /// assert_eq!(handle.try_join().transpose()?, Some(42));
    /// # Ok::<(), brigade_task::JoinError>(())
    /// ```
    pub fn with_handle<W, T>(work: W) -> (Self, JoinHandle<T>)
    where
        W: Work<Output = T>,
        T: Send + 'static,
    {
        let (job, handle) = HandledJob::new(work);
        (job.into(), handle)
    }

    /// Creates a job of a function and a payload.
    ///
    /// # Safety
    /// `P` must fit the payload, and `act` must expect a `P` there.
    #[inline(always)]
    pub(crate) unsafe fn from_raw<P>(act: Act, value: P) -> Self {
        let mut words: Payload = [MaybeUninit::uninit(); 3];
        // SAFETY: it fits, guaranteed by the caller.
        unsafe { ptr::from_mut(&mut words).cast::<P>().write(value) };
        // Word by word, so the optimiser keeps the words in registers until they are written to a queue's slot. A copy
        // of the whole would go through memory, where the wide loads wait for the closure's narrow stores.
        Self { payload: [words[0], words[1], words[2]], act, not_sync: PhantomData }
    }

    /// Makes the second job of a closure.
    ///
    /// # Safety
    /// Life rule: the side of the second job must have been added, and belongs to the job from now on.
    pub(crate) unsafe fn second(cell: NonNull<Header>) -> Self {
        // SAFETY: a pointer is one word, and `act_second` is the function of such a job.
        unsafe { Self::from_raw(act_second, cell) }
    }

    /// Runs the closure if it [may start](Work::may_start); else drops it, and contains a panic of the drop.
    ///
    /// # Panics
    /// If the closure panics and has no handle to take the payload.
    #[inline]
    pub fn run(self) -> Outcome {
        self.consume(Action::Run, ptr::null_mut())
    }

    /// Like [`run`](Self::run), for the job in a slot, which is empty then; `None` if it is empty before. The job is run where it lies: if jobs
    /// run jobs, a copy of each would lie on the stack.
    ///
    /// # Panics
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// use brigade_task::{Job, Outcome};
    /// let mut slot = Some(Job::new(|| ()));
    /// assert_eq!([Job::run_in(&mut slot), Job::run_in(&mut slot)], [Some(Outcome::Returned), None]);
    /// ```
    #[inline]
    pub fn run_in(slot: &mut Option<Self>) -> Option<Outcome> {
        /// Empties a slot without a drop of the job.
        struct Empty(*mut Option<Job>);
        impl Drop for Empty {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: made from a reference borrowed for longer.
                unsafe { self.0.write(None) };
            }
        }
        let empty = Empty(slot);
        // SAFETY: only the guard has the slot.
        match unsafe { &mut *empty.0 } {
            // SAFETY: Payload rule; the job is not dropped, so this is the only consuming action.
            Some(job) => Some(unsafe { (job.act)(&mut job.payload, Action::Run, ptr::null_mut()) }),
            None => None,
        }
    }

    /// Drops the closure; the handle, if any, gets [`JoinError::Cancelled`](crate::JoinError::Cancelled) with this cause. The
    /// cause of a dropped job is [`Ended`](Cause::Ended).
    ///
    /// # Panics
    /// If the drop of a capture panics; the handle has the result by then.
    pub fn cancel(self, cause: Cause) -> Outcome {
        self.consume(Action::Drop, ptr::without_provenance_mut(cause as usize))
    }

    /// Returns the closure.
    ///
    /// # Errors
    /// The job, if the closure is not an `F`.
    ///
    /// # Panics
    /// If the job is [stale](Outcome::Stale).
    pub fn into_closure<F: 'static>(self) -> Result<F, Self> {
        match self.into_content::<F>() {
            Err(job) if const { !fits::<F>() } => {
                job.into_content::<BoxedWork<F>>().map(BoxedWork::into_inner)
            }
            content => content,
        }
    }

    /// Returns the closure if it is of this type, which may be the type of a box.
    fn into_content<F: 'static>(self) -> Result<F, Self> {
        let mut closure = MaybeUninit::<F>::uninit();
        // SAFETY: there is room for an `F`.
        unsafe { self.take_if(TypeId::of::<F>(), closure.as_mut_ptr().cast()) }?;
        // SAFETY: it has been moved here.
        Ok(unsafe { closure.assume_init() })
    }

    /// Moves the closure to `out` if it is of this type.
    ///
    /// # Safety
    /// `out` must have room for a value of this type.
    unsafe fn take_if(self, id: TypeId, out: *mut ()) -> Result<(), Self> {
        if self.identify() != id {
            return Err(self);
        }
        let taken = self.consume(Action::Take, out);
        // Only `Cancelled` means it was moved.
        assert!(
            matches!(taken, Outcome::Cancelled(_)),
            "the closure has been run or dropped through its handle"
        );
        Ok(())
    }

    /// Returns whether this is a leftover: the closure, or the future while queued, has been claimed through the handle, to run
    /// or to drop it there.
    ///
    /// A stale job of a closure never becomes useful again, and a stale job of a future only where the future has another job; so a queue
    /// may [drop it](Self::drop_if_stale) early. For a closure without a handle the answer comes from [`Work::is_stale`], so it is
    /// `false` for plain closures.
    ///
    /// The answer may be out of date on return: the handle may claim the closure at any time, and a future may be woken.
    ///
    /// ```
    /// use brigade_task::{Job, Outcome};
    /// let (job, mut handle) = Job::with_handle(|| 6 * 7);
    /// assert!(!job.is_stale());
    /// assert_eq!(handle.settle_if_unclaimed(None), Some(Outcome::Returned));
    /// assert!(job.is_stale());
    /// assert_eq!(job.run(), Outcome::Stale);
    /// ```
    pub fn is_stale(&self) -> bool {
        let mut is_stale = false;
        // SAFETY: the action does not consume the payload, and `out` is a `bool`.
        unsafe { self.inspect(Action::IsStale, ptr::from_mut(&mut is_stale).cast()) };
        is_stale
    }

    /// Notes the [class](crate::JobHandle::class) by which the job is queued, for the handle, if none has been noted.
    ///
    /// ```
    /// let (job, handle) = brigade_task::Job::with_handle(|| ());
    /// job.note_class(1);
    /// assert_eq!(handle.class(), 1);
    /// ```
    pub fn note_class(&self, class: u8) {
        // SAFETY: the action does not consume the payload, and `out` is a number.
        unsafe { self.inspect(Action::NoteClass, ptr::without_provenance_mut(class.into())) };
    }

    /// Drops the job if it is [stale](Self::is_stale), which frees memory and calls no user code; returns the outcome.
    ///
    /// # Errors
    /// The job, if it is not stale.
    ///
    /// ```
    /// use brigade_task::{Job, Outcome};
    /// let (job, mut handle) = Job::with_handle(|| 42);
    /// let job = job.drop_if_stale().unwrap_err();
    /// handle.settle_if_unclaimed(None);
    /// assert!(matches!(job.drop_if_stale(), Ok(Outcome::Stale)));
    /// ```
    pub fn drop_if_stale(self) -> Result<Outcome, Self> {
        if !self.is_stale() {
            return Err(self);
        }
        // A future woken since must not be polled here, nor cancelled.
        Ok(self.consume(Action::Leave, ptr::null_mut()))
    }

    /// Whether this borrows from a thread that waits for it: it belongs to a fork, to a waiting call, or to a scope.
    pub fn borrows(&self) -> bool {
        self.is_of_scope() || self.identify() == TypeId::of::<OfFork>()
    }

    /// Whether this is a job of a scope. Dropped, such a job is missing in the scope; the other jobs that borrow return to their threads.
    pub fn is_of_scope(&self) -> bool {
        self.identify() == TypeId::of::<OfScope>()
    }

    /// Whether this has the function `act`, and a payload that begins with `pointer`.
    pub(crate) fn has(&self, act: Act, pointer: *const ()) -> bool {
        // SAFETY: the payload begins with a pointer, as the function expects.
        ptr::fn_addr_eq(self.act, act) && unsafe { self.first_word() } == pointer
    }

    /// The first word of the payload.
    ///
    /// # Safety
    /// It must be a pointer.
    #[inline(always)]
    pub(crate) unsafe fn first_word(&self) -> *const () {
        // SAFETY: guaranteed by the caller.
        unsafe { ptr::from_ref(&self.payload).cast::<*const ()>().read() }
    }

    /// Returns the type of the closure.
    pub(crate) fn identify(&self) -> TypeId {
        let mut id = TypeId::of::<()>();
        // SAFETY: the action does not consume the payload, and `out` is a `TypeId`.
        unsafe { self.inspect(Action::Identify, ptr::from_mut(&mut id).cast()) };
        id
    }

    /// Calls the function with a read-only action.
    ///
    /// # Safety
    /// The action must not consume the payload, and `out` must be as it says.
    unsafe fn inspect(&self, action: Action, out: *mut ()) {
        let payload = ptr::from_ref(&self.payload).cast_mut();
        // SAFETY: Payload rule; the rest is guaranteed by the caller.
        unsafe { (self.act)(payload, action, out) };
    }

    /// Calls the function with a consuming action; `out` must be as it says.
    #[inline]
    pub(crate) fn consume(self, action: Action, out: *mut ()) -> Outcome {
        let mut this = ManuallyDrop::new(self);
        let act = this.act;
        // SAFETY: Payload rule; `self` is not dropped, so this is the only consuming action.
        unsafe { act(&mut this.payload, action, out) }
    }
}

/// The job of a closure that has a handle, in two words: a call passes it in registers, and a [`Job`] in memory.
///
/// ```
/// use brigade_task::{HandledJob, Job, Outcome};
/// let (job, handle) = HandledJob::new(|| 6 * 7);
/// assert_eq!(Job::from(job).run(), Outcome::Returned);
/// assert_eq!(handle.join()?, 42);
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub struct HandledJob {
    act: Act,
    /// Payload rule: the payload of a job.
    cell: NonNull<Header>,
}

// SAFETY: `new` requires the work to be `Send`.
unsafe impl Send for HandledJob {}

impl HandledJob {
    /// Like [`Job::with_handle`].
    pub fn new<W, T>(work: W) -> (Self, JoinHandle<T>)
    where
        W: Work<Output = T>,
        T: Send + 'static,
    {
        let (act, cell) = match const { is_large::<W>() } {
            true => cell::allocate(BoxedWork::new(work)),
            false => cell::allocate(work),
        };
        // SAFETY: the cell was allocated for this job and a handle of type `T`.
        (Self { act, cell }, unsafe { JoinHandle::from_raw(cell) })
    }
}

impl From<HandledJob> for Job {
    #[inline(always)]
    fn from(job: HandledJob) -> Self {
        let job = ManuallyDrop::new(job);
        // SAFETY: a pointer is one word, and `act` is the function of the cell.
        unsafe { Self::from_raw(job.act, job.cell) }
    }
}

impl Drop for HandledJob {
    fn drop(&mut self) {
        // SAFETY: as above; it is not used again.
        drop(unsafe { Job::from_raw(self.act, self.cell) });
    }
}

brigade_sync::opaque!(HandledJob);

/// The number of the cause of a dropped job.
const ENDED: *mut () = ptr::without_provenance_mut(Cause::Ended as usize);

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: Payload rule; `consume` takes `self` without dropping it.
        unsafe { (self.act)(&mut self.payload, Action::Drop, ENDED) };
    }
}

brigade_sync::opaque!(Job);

/// Whether work of this type is stored in the job.
const fn fits<W>() -> bool {
    size_of::<W>() <= size_of::<Payload>() && align_of::<W>() <= align_of::<Payload>()
}

/// The function of a job whose payload is an `F`.
///
/// # Safety
/// Payload rule; `out` must be as the action says.
unsafe fn act_inline<F: Work<Output = ()>>(
    payload: *mut Payload,
    action: Action,
    out: *mut (),
) -> Outcome {
    let closure = payload.cast::<F>();
    // SAFETY: Payload rule: the payload is an `F`; borrowed for the call.
    let is_stale = || unsafe { &*closure }.is_stale();
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe { inspect(action, out, TypeId::of::<F>, &is_stale, &|_| ()) } {
        return Outcome::Stale;
    }
    // SAFETY: Payload rule, as above; where this is called, the payload is consumed.
    let mut drop = || unsafe { closure.drop_in_place() };
    match action {
        Action::Run | Action::Leave => {
            // SAFETY: Payload rule, as above.
            if let Err(cause) = unsafe { &*closure }.may_start() {
                if let Err(payload) = frames::drop_as::<F>(cause, &mut drop) {
                    dispose(payload);
                }
                return Outcome::Cancelled(cause);
            }
            // SAFETY: Payload rule, as above; it is consumed.
            unsafe { closure.read() }.run();
            Outcome::Returned
        }
        Action::Take => {
            // SAFETY: Payload rule, as above; `out` has room for an `F`, guaranteed by the caller.
            unsafe { out.cast::<F>().copy_from_nonoverlapping(closure, 1) };
            Outcome::Cancelled(action.cause(out))
        }
        _ => {
            if let Err(payload) = frames::drop_as::<F>(action.cause(out), &mut drop) {
                panic::resume_unwind(payload);
            }
            Outcome::Cancelled(action.cause(out))
        }
    }
}

/// Identifies the second job of a closure.
struct Second;

/// The function of the second job of a closure: runs the closure, or leaves it to the first.
///
/// # Safety
/// Payload rule: the payload is a pointer to a cell, whose second side is the job's. `out` must be as the action says.
unsafe fn act_second(payload: *mut Payload, action: Action, out: *mut ()) -> Outcome {
    /// Releases the side, also on unwinding.
    struct Release(NonNull<Header>);
    impl Drop for Release {
        fn drop(&mut self) {
            // SAFETY: Life rule: the side is released only here.
            unsafe { Header::release(self.0, SECOND) };
        }
    }

    // SAFETY: Payload rule.
    let cell = unsafe { payload.cast::<NonNull<Header>>().read() };
    // SAFETY: Life rule: the side is alive.
    let Header { state, vtable, .. } = unsafe { cell.as_ref() };
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe { inspect(action, out, TypeId::of::<Second>, &|| state.is_claimed(), &|_| ()) } {
        return Outcome::Stale;
    }
    let _release = Release(cell);
    if action != Action::Run || !state.claim() {
        return Outcome::Stale;
    }
    // SAFETY: claimed just now; the vtable is the cell's.
    unsafe { (vtable.settle)(cell, None, None) }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests;
