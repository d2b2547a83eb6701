//! A closure on the stack of the forking thread.
//!
//! **Fork rule.** A frame lies on its owner's stack. A job with a pointer to it is made once. The owner leaves the frame only when
//! it has the job back, which it then forgets, or once the latch has been set, which the job does when it is run or dropped. The
//! holder of the job takes the work; the result is written before the latch is set, and read by the owner after it.

use core::any::{Any, TypeId};
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::cell::UnsafeCell;
use brigade_sync::{OwnerEnd, call_user};

use super::latch::Latch;
use super::part::Part;
use super::tickets::return_tickets;
use super::{Abort, wait_by};
use crate::act::{Action, Outcome, Payload, inspect};
use crate::cell::JobContext;
use crate::contain::drop_contained;
use crate::job::Job;
use crate::region::{OfFork, Region};

/// The runner of forked jobs: a worker with a deque.
///
/// No implementation can break the memory safety of a fork: a lost or unrun job keeps the fork waiting.
pub trait Forks {
    /// A deque of forks.
    type Deque: OwnerEnd<Part>;

    /// Adds a part at the newest end of the deque, from which other threads may take it.
    fn push(&self, part: Part);

    /// The deque.
    fn deque(&self) -> &Self::Deque;

    /// Takes the newest part of the deque.
    fn take_back(&self) -> Option<Part>;

    /// Waits until the wait may be over; meanwhile it may run other parts of the region.
    fn wait(&self, wait: Wait<'_>);

    /// Counts a panic whose payload has been dropped: the second closure of a fork panicked after the first.
    fn count_panic(&self) {}
}

/// The wait of a thread for a fork or a scope.
///
/// Only the waiting thread has it: no other thread registers a waker.
///
/// ```compile_fail,E0277
/// fn elsewhere(wait: brigade_task::Wait<'_>) {
///     std::thread::scope(|s| _ = s.spawn(|| wait.is_over()));
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Wait<'a> {
    latch: &'a Latch,
    region: Region,
    has_parts: bool,
    /// Neither `Send` nor `Sync`: see the `Waker rule` of the latch.
    not_send: PhantomData<*const ()>,
}

impl<'a> Wait<'a> {
    /// A wait of the latch's owner.
    pub(super) fn new(latch: &'a Latch, region: Region) -> Self {
        Self { latch, region, has_parts: true, not_send: PhantomData }
    }

    /// A wait for a result, of which no queued job is a part.
    pub(super) fn without_parts(latch: &'a Latch, region: Region) -> Self {
        Self { has_parts: false, ..Self::new(latch, region) }
    }

    /// Whether it has ended. [Returns](return_tickets) the tickets that the thread keeps, which may be the last.
    #[inline]
    pub fn is_over(self) -> bool {
        return_tickets();
        self.is_set()
    }

    /// Like [`is_over`](Self::is_over), but returns no tickets; for a thread that runs parts next, if there are any.
    #[inline]
    pub fn is_set(self) -> bool {
        self.latch.is_set()
    }

    /// Registers the waker for the end, in place of the former waker; `false` if it has ended already. Returns tickets, as
    /// [`is_over`](Self::is_over) does.
    pub fn register(self, waker: core::task::Waker) -> bool {
        return_tickets();
        self.latch.register(waker)
    }

    /// The awaited fork or scope.
    pub fn region(self) -> Region {
        self.region
    }

    /// Whether queued jobs may be part of it.
    pub fn has_parts(self) -> bool {
        self.has_parts
    }
}

brigade_sync::opaque!(Wait<'_>: region);

/// The frame of a fork. With `COUNTED` it counts as a job; otherwise it is a part of the forking job.
struct Frame<B, R, const COUNTED: bool> {
    latch: Latch,
    /// The context entered by the thread that takes the work.
    context: JobContext,
    work: UnsafeCell<MaybeUninit<B>>,
    result: UnsafeCell<MaybeUninit<Result<R, Box<dyn Any + Send>>>>,
}

impl<B: FnOnce() -> R, R, const COUNTED: bool> Frame<B, R, COUNTED> {
    #[inline(always)]
    fn new(work: B) -> Self {
        Self {
            latch: Latch::new(),
            context: JobContext::current(),
            work: UnsafeCell::new(MaybeUninit::new(work)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Makes the frame's job.
    ///
    /// # Safety
    /// Fork rule: once; and the closure and the result must be fit to be sent to another thread.
    #[inline(always)]
    unsafe fn part(&self) -> Part {
        // SAFETY: a pointer is one word, and the function expects a pointer to such a frame, which lives by the Fork rule.
        let job = unsafe { Job::from_raw(act::<B, R, COUNTED>, NonNull::from(self)) };
        // SAFETY: Part rule: the address of the frame is the region's.
        unsafe { Part::new(job) }
    }

    #[inline(always)]
    fn owns(&self, part: &Part) -> bool {
        // It is the address of this frame, which has a single part.
        part.region() == self.region()
    }

    #[inline(always)]
    fn region(&self) -> Region {
        Region(core::ptr::from_ref(self).addr())
    }

    /// Takes the work.
    ///
    /// # Safety
    /// Fork rule: the caller has the job, or it has been returned; once.
    #[inline(always)]
    unsafe fn take(&self) -> B {
        // SAFETY: guaranteed by the caller.
        let work = self.work.with_mut(|work| unsafe { work.read() });
        // SAFETY: as above.
        unsafe { work.assume_init() }
    }

    /// Waits for the job, which another thread has; returns its result. A job given back is run here.
    fn finish(&self, forks: &impl Forks) -> Result<R, Box<dyn Any + Send>> {
        wait_by(Wait::new(&self.latch, self.region()), |wait| forks.wait(wait));
        self.outcome().unwrap_or_else(|| {
            // SAFETY: Fork rule: it has been returned.
            let work = unsafe { self.take() };
            panic::catch_unwind(AssertUnwindSafe(work))
        })
    }

    /// The result, once the latch is set; `None` if the work was returned.
    fn outcome(&self) -> Option<Result<R, Box<dyn Any + Send>>> {
        if self.latch.has_returned_work() {
            return None;
        }
        // SAFETY: Fork rule: the job has written it before it set the latch. Each owner reads it once.
        let result = self.result.with_mut(|result| unsafe { result.read() });
        // SAFETY: as above.
        Some(unsafe { result.assume_init() })
    }

    /// The rest of a join whose job is not the newest of the deque.
    #[cold]
    #[inline(never)]
    fn search(&self, forks: &impl Forks) -> Result<R, Box<dyn Any + Send>> {
        // Jobs of scopes around the join, which `a` has pushed: they are not part of it, and stay for those scopes.
        let bomb = Abort;
        let mut others = Vec::new();
        let mut newest = forks.take_back();
        while let Some(job) = newest.take_if(|job| !self.owns(job)) {
            others.push(job);
            newest = forks.take_back();
        }
        while let Some(job) = others.pop() {
            forks.push(job);
        }
        mem::forget(bomb);
        let Some(job) = newest else { return self.finish(forks) };
        mem::forget(job);
        // SAFETY: Fork rule: the owner has the job back.
        let work = unsafe { self.take() };
        panic::catch_unwind(AssertUnwindSafe(work))
    }
}

/// The function of a job whose payload is a pointer to a frame.
///
/// # Safety
/// Payload rule of [`crate::job`] and Fork rule; `out` must be as the action says.
unsafe fn act<B: FnOnce() -> R, R, const COUNTED: bool>(
    payload: *mut Payload,
    action: Action,
    out: *mut (),
) -> Outcome {
    // SAFETY: Payload rule: the payload is a pointer to a frame.
    let pointer = unsafe { payload.cast::<NonNull<Frame<B, R, COUNTED>>>().read() };
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe { inspect(action, out, TypeId::of::<OfFork>, &|| false, &|_| ()) } {
        return Outcome::Stale;
    }
    let outcome = match action {
        Action::Run => {
            // SAFETY: Fork rule: the frame lives until the latch is set; the work is the job's.
            let frame = unsafe { pointer.as_ref() };
            // SAFETY: as above.
            let work = unsafe { frame.take() };
            // SAFETY: Fork rule: the owner waits, in the call that made the frame.
            let work = || unsafe { frame.context.enter(|| call_user(work)) };
            let result = panic::catch_unwind(AssertUnwindSafe(work));
            let outcome = if result.is_ok() { Outcome::Returned } else { Outcome::Panicked };
            // SAFETY: Fork rule: written before the latch is set.
            frame.result.with_mut(|slot| unsafe { slot.write(MaybeUninit::new(result)) });
            outcome
        }
        _ => Outcome::Cancelled(action.cause(out)),
    };
    // SAFETY: Fork rule: the frame lives until the latch is set.
    let latch = unsafe { &raw const (*pointer.as_ptr()).latch };
    // SAFETY: Latch rule: as above, and the job is consumed once.
    unsafe { Latch::set(latch, !matches!(outcome, Outcome::Cancelled(_))) };
    if COUNTED { outcome } else { Outcome::Stale }
}

/// Calls `a`, and `b` on this thread or on another thread that takes it meanwhile; returns both results.
///
/// Both closures are always called. If either panics, this panics with the same payload once both have ended; the payload of `a`
/// wins.
///
/// ```
/// use brigade_task::{Forks, Part, Wait, join};
/// use std::cell::RefCell;
/// struct Alone(RefCell<Vec<Part>>);
/// impl Forks for Alone {
///     type Deque = RefCell<Vec<Part>>;
///     fn deque(&self) -> &Self::Deque {
///         &self.0
///     }
///     fn push(&self, part: Part) {
///         self.0.borrow_mut().push(part);
///     }
///     fn take_back(&self) -> Option<Part> {
///         self.0.borrow_mut().pop()
///     }
///     fn wait(&self, _: Wait<'_>) {
///         unreachable!("no other thread takes anything");
///     }
/// }
/// let mut words = ["borrowed", "mutably"];
/// let (first, second) = words.split_at_mut(1);
/// let lengths = join(&Alone(RefCell::default()), || first[0].len(), || {
///     second[0] = "changed";
///     second[0].len()
/// });
/// assert_eq!((lengths, words), ((8, 7), ["borrowed", "changed"]));
/// ```
#[inline(always)]
pub fn join<F, A, B, RA, RB>(forks: &F, a: A, b: B) -> (RA, RB)
where
    F: Forks,
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    /// The end of a join whose first closure panics.
    struct Unwinding<'a, F: Forks, B: FnOnce() -> R, R>(&'a F, &'a Frame<B, R, false>);
    impl<F: Forks, B: FnOnce() -> R, R> Drop for Unwinding<'_, F, B, R> {
        #[inline(always)]
        fn drop(&mut self) {
            end(self.0, self.1);
        }
    }

    /// The result of the first closure while the second is called: if the second panics, a panic of the result's drop is
    /// contained.
    struct First<R>(ManuallyDrop<R>);
    impl<R> First<R> {
        #[inline(always)]
        fn into_inner(self) -> R {
            let mut this = ManuallyDrop::new(self);
            // SAFETY: taken once, as this is not dropped.
            unsafe { ManuallyDrop::take(&mut this.0) }
        }
    }
    impl<R> Drop for First<R> {
        #[inline(always)]
        fn drop(&mut self) {
            if mem::needs_drop::<R>() {
                // SAFETY: taken once, as this is dropped once.
                drop_contained(unsafe { ManuallyDrop::take(&mut self.0) });
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn end<F: Forks, B: FnOnce() -> R, R>(forks: &F, frame: &Frame<B, R, false>) {
        if let Err(payload) = frame.search(forks).map(drop_contained) {
            forks.count_panic();
            drop_contained(payload);
        }
    }

    let frame = Frame::<B, RB, false>::new(b);
    let bomb = Abort;
    // SAFETY: once; `B` and `RB` are `Send`. Fork rule: every way out of this function has the job back, or waits for the latch.
    let part = unsafe { frame.part() };
    forks.push(part);
    mem::forget(bomb);
    let unwinding = Unwinding(forks, &frame);
    let first = a();
    mem::forget(unwinding);
    let bomb = Abort;
    // SAFETY: the closure compares two words.
    let is_back = unsafe { forks.deque().forget_newest_if(|newest| frame.owns(newest)) };
    mem::forget(bomb);
    if is_back {
        // SAFETY: Fork rule: the owner has the job back.
        let work = unsafe { frame.take() };
        let first = First(ManuallyDrop::new(first));
        let second = work();
        return (first.into_inner(), second);
    }
    match frame.search(forks) {
        Ok(second) => (first, second),
        Err(payload) => {
            drop_contained(first);
            panic::resume_unwind(payload)
        }
    }
}

/// Passes a closure as a job to `give`, and waits until it has been called; returns the result.
///
/// `wait_for` waits until the wait may be [over](Wait::is_over); it is called again until it is.
///
/// # Errors
/// The closure, if `give` returns the job, or the job was dropped.
///
/// # Panics
/// If the closure panics, with the same payload.
///
/// ```
/// let words = ["borrowed"];
/// let given = std::cell::Cell::new(None::<brigade_task::Job>);
/// let run = || given.take().map(brigade_task::Job::run);
/// let count = brigade_task::install(|| words.len(), |job| Ok(given.set(Some(job))), |_| _ = run());
/// assert!(matches!(count, Ok(1)));
/// let refused = brigade_task::install(|| words.len(), Err, |_| unreachable!());
/// assert_eq!(refused.map_err(|work| work()), Err(1));
/// ```
pub fn install<B, R>(
    work: B,
    give: impl FnOnce(Job) -> Result<(), Job>,
    wait_for: impl FnMut(Wait<'_>),
) -> Result<R, B>
where
    B: FnOnce() -> R + Send,
    R: Send,
{
    let frame = Frame::<B, R, true>::new(work);
    let bomb = Abort;
    // SAFETY: once; both are `Send`. Fork rule: every way out of this function has the job back, or waits for the latch.
    let refused = give(unsafe { frame.part() }.into_job()).err();
    if let Some(job) = refused {
        let is_own = job.has(act::<B, R, true>, core::ptr::from_ref(&frame).cast());
        assert!(is_own, "another job was returned than was given");
        mem::forget((job, bomb));
        // SAFETY: Fork rule: the owner has the job back.
        return Err(unsafe { frame.take() });
    }
    mem::forget(bomb);
    wait_by(Wait::new(&frame.latch, frame.region()), wait_for);
    match frame.outcome() {
        Some(Ok(result)) => Ok(result),
        Some(Err(payload)) => panic::resume_unwind(payload),
        // SAFETY: Fork rule: it has been returned.
        None => Err(unsafe { frame.take() }),
    }
}
