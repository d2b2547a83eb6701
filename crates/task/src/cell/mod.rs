//! The one allocation that a job and its handle share.
//!
//! **Stage rule.** The stage is touched by whoever claimed the task until `DONE` is set, then by the
//! owner of the outcome; [`state`] says who that is. **Slot rule.** The waker slot is touched by the
//! handle while `WAKER` is clear, by the finisher once it set `DONE` and found `WAKER` set.
//! **Life rule.** A cell lives until both its job and its handle have released it.

pub(crate) mod running;
pub(crate) mod state;
pub(crate) mod turn;

use core::any::TypeId;
use core::mem;
use core::ptr::NonNull;
use core::task::Waker;
use std::panic::{self, AssertUnwindSafe};

use brigade_sync::cell::UnsafeCell;

use crate::job::{Act, Action, Payload, Ran};
use crate::join::JoinError;
use crate::work::Work;
pub use running::JobId;
pub(crate) use running::{for_each_running, is_asked_to_stop};
use state::{Finished, Slot, State};
use turn::Turn;

/// What a handle knows of a cell whose closure's type it does not know.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    /// Whose turn it is at a future.
    pub(crate) turn: Turn,
    /// Whom to wake when the outcome is there (Slot rule).
    waker: UnsafeCell<Option<Waker>>,
    pub(crate) vtable: &'static VTable,
}

/// What a handle or a waker asks of a cell; each takes a pointer that `allocate` made for the same types.
pub(crate) struct VTable {
    /// Moves the outcome, a `Result<T, JoinError>`, to `out`.
    pub(crate) take: unsafe fn(NonNull<Header>, out: *mut ()),
    /// Runs the closure that the caller claimed, if it is to and may, or drops it.
    pub(crate) settle: unsafe fn(NonNull<Header>, run: bool) -> Ran,
    /// Frees the cell.
    pub(crate) free: unsafe fn(NonNull<Header>),
    /// Makes the job of a future that was woken, and takes it to its home; no closure has it.
    pub(crate) schedule: Option<unsafe fn(NonNull<Header>)>,
}

/// What lies in a cell besides its header.
enum Stage<F, T> {
    Closure(F),
    Outcome(Result<T, JoinError>),
    Empty,
}

#[repr(C)]
struct Cell<F, T> {
    header: Header,
    /// Stage rule.
    stage: UnsafeCell<Stage<F, T>>,
}

impl Header {
    fn of_closure(vtable: &'static VTable) -> Self {
        Self { state: State::new(), turn: Turn::unused(), waker: UnsafeCell::new(None), vtable }
    }

    /// The header of a future, which only the one who polls it ends.
    pub(crate) fn of_future(vtable: &'static VTable) -> Self {
        Self { state: State::claimed(), turn: Turn::queued(), waker: UnsafeCell::new(None), vtable }
    }

    /// Wakes whoever waits for the outcome; called by the finisher when it found `WAKER`.
    pub(crate) fn wake(&self) {
        let waker = self.waker.with_mut(|slot| {
            // SAFETY: Slot rule: `DONE` was set and `WAKER` found, by the caller.
            unsafe { &mut *slot }.take()
        });
        // A waker is user code; its panic is none of the job's business.
        crate::contain(|| waker.into_iter().for_each(Waker::wake));
    }

    /// Releases the job's side of a cell.
    ///
    /// # Safety
    /// Life rule: it is released once, and not used afterwards; the pointer is to the whole cell.
    pub(crate) unsafe fn release_job(cell: NonNull<Self>) {
        // SAFETY: Life rule: it is there until this releases it.
        let header = unsafe { cell.as_ref() };
        let free = header.vtable.free;
        if header.state.release_job() {
            // SAFETY: Life rule: both sides have been released.
            unsafe { free(cell) };
        }
    }
}

/// Allocates a cell for one job and one handle, and names the job's function.
pub(crate) fn allocate<F, T>(closure: F) -> (Act, NonNull<Header>)
where
    F: Work<Output = T>,
    T: Send + 'static,
{
    let vtable = const {
        &VTable { take: take::<F, T>, settle: settle::<F, T>, free: free::<F, T>, schedule: None }
    };
    let cell = Box::new(Cell::<F, T> {
        header: Header::of_closure(vtable),
        stage: UnsafeCell::new(Stage::Closure(closure)),
    });
    (act::<F, T>, NonNull::from(Box::leak(cell)).cast())
}

impl<F: Work<Output = T>, T> Cell<F, T> {
    /// Moves the stage out.
    ///
    /// # Safety
    /// Stage rule: the caller claimed the task, or owns the outcome.
    unsafe fn replace(&self, stage: Stage<F, T>) -> Stage<F, T> {
        self.stage.with_mut(|place| {
            // SAFETY: Stage rule, by the caller.
            mem::replace(unsafe { &mut *place }, stage)
        })
    }

    /// Takes the closure that the caller claimed.
    ///
    /// # Safety
    /// The caller claimed the task and has not taken the closure before.
    unsafe fn take_closure(&self) -> F {
        // SAFETY: Stage rule, by the caller.
        match unsafe { self.replace(Stage::Empty) } {
            Stage::Closure(closure) => closure,
            _ => unreachable!("a task is claimed once"),
        }
    }

    /// Writes the outcome and tells the handle; gives the outcome back if the handle is gone.
    ///
    /// # Safety
    /// The caller claimed the task and has taken its closure.
    unsafe fn finish(&self, outcome: Result<T, JoinError>) -> Option<Result<T, JoinError>> {
        // SAFETY: Stage rule, by the caller.
        unsafe { self.replace(Stage::Outcome(outcome)) };
        match self.header.state.finish() {
            // SAFETY: Stage rule: the handle is gone, so the outcome is ours.
            Finished::Detached => match unsafe { self.replace(Stage::Empty) } {
                Stage::Outcome(outcome) => Some(outcome),
                _ => None,
            },
            Finished::Wake => {
                self.header.wake();
                None
            }
            Finished::Quiet => None,
        }
    }
}

/// The function of a job whose payload is a pointer to a cell.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` is as the action says.
unsafe fn act<F, T>(payload: *mut Payload, action: Action, out: *mut ()) -> Ran
where
    F: Work<Output = T>,
    T: Send + 'static,
{
    /// Releases the job's side of the cell, also by unwinding.
    struct Release(NonNull<Header>);
    impl Drop for Release {
        fn drop(&mut self) {
            // SAFETY: Life rule: the job's side is released here and only here.
            unsafe { Header::release_job(self.0) };
        }
    }

    // SAFETY: Payload rule: a pointer to a cell lies there.
    let pointer = unsafe { payload.cast::<NonNull<Header>>().read() };
    // SAFETY: Life rule: the job is alive, and its function is called with its cell's types.
    let cell = unsafe { pointer.cast::<Cell<F, T>>().as_ref() };
    if action == Action::Identify {
        // SAFETY: `out` is a `TypeId`, by the caller.
        unsafe { out.cast::<TypeId>().write(TypeId::of::<F>()) };
        return Ran::Elsewhere;
    }
    let release = Release(pointer);
    if !cell.header.state.claim() {
        return Ran::Elsewhere;
    }
    // SAFETY: claimed just now.
    let closure = unsafe { cell.take_closure() };
    let (ran, outcome, panic) = match action {
        Action::Run => {
            let (ran, outcome) = start(&cell.header.state, closure);
            (ran, outcome, None)
        }
        Action::Take => {
            // SAFETY: `out` is room for an `F`, by the caller.
            unsafe { out.cast::<F>().write(closure) };
            (Ran::Cancelled, Err(JoinError::Cancelled), None)
        }
        _ => {
            let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(closure)));
            (Ran::Cancelled, Err(JoinError::Cancelled), dropped.err())
        }
    };
    // SAFETY: claimed, and the closure has been taken.
    let unclaimed = unsafe { cell.finish(outcome) };
    drop(release);
    // From here on the cell may be gone. What nobody waits for is dropped, and its panics go up.
    match (panic, unclaimed) {
        (Some(payload), _) | (None, Some(Err(JoinError::Panicked(payload)))) => {
            panic::resume_unwind(payload)
        }
        (None, other) => drop(other),
    }
    ran
}

/// Runs a closure that may look at its state, if it may start, and says how it ended in both ways that somebody asks for.
fn start<W: Work>(state: &State, closure: W) -> (Ran, Result<W::Output, JoinError>) {
    let call = || if closure.may_start() { Ok(closure.run()) } else { Err(closure) };
    match panic::catch_unwind(AssertUnwindSafe(|| running::enter(state, call))) {
        Ok(Ok(value)) => (Ran::Returned, Ok(value)),
        Ok(Err(closure)) => cancel(closure),
        Err(payload) => (Ran::Panicked, Err(JoinError::Panicked(payload))),
    }
}

/// Drops a closure that nobody will run; a panic of that is none of whoever does it.
fn cancel<W: Work>(closure: W) -> (Ran, Result<W::Output, JoinError>) {
    crate::drop_contained(closure);
    (Ran::Cancelled, Err(JoinError::Cancelled))
}

/// Moves the outcome to `out`.
///
/// # Safety
/// The cell has these types, `DONE` is set, the caller is the handle and has not taken it before.
unsafe fn take<F: Work<Output = T>, T>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the types are right, by the caller; Life rule.
    let cell = unsafe { header.cast::<Cell<F, T>>().as_ref() };
    // SAFETY: Stage rule: the outcome is the handle's.
    let Stage::Outcome(outcome) = (unsafe { cell.replace(Stage::Empty) }) else {
        unreachable!("an outcome is taken once")
    };
    // SAFETY: `out` is room for an outcome, by the caller.
    unsafe { out.cast::<Result<T, JoinError>>().write(outcome) };
}

/// Runs the closure that the handle claimed, if it is to and may, or drops it.
///
/// # Safety
/// The cell has these types, and the caller is the handle and claimed the task.
unsafe fn settle<F: Work<Output = T>, T>(header: NonNull<Header>, run: bool) -> Ran {
    // SAFETY: the types are right, by the caller; Life rule.
    let cell = unsafe { header.cast::<Cell<F, T>>().as_ref() };
    // SAFETY: claimed, by the caller.
    let closure = unsafe { cell.take_closure() };
    let (ran, outcome) = if run { start(&cell.header.state, closure) } else { cancel(closure) };
    // SAFETY: claimed, and the closure has been taken. The handle is alive, so nothing comes back.
    let unclaimed = unsafe { cell.finish(outcome) };
    debug_assert!(unclaimed.is_none());
    ran
}

/// Frees a cell.
///
/// # Safety
/// The cell has these types, and both sides have been released.
unsafe fn free<F, T>(header: NonNull<Header>) {
    // SAFETY: it came from a box of this type, and nobody has it any more.
    drop(unsafe { Box::from_raw(header.cast::<Cell<F, T>>().as_ptr()) });
}

/// A handle's side of a cell, without the type of the outcome.
pub(crate) struct RawHandle(NonNull<Header>);

impl RawHandle {
    /// Takes the handle's side of a cell.
    pub(crate) fn new(header: NonNull<Header>) -> Self {
        Self(header)
    }

    fn header(&self) -> &Header {
        // SAFETY: Life rule: the handle is alive.
        unsafe { self.0.as_ref() }
    }

    /// Names the job for as long as the handle is there.
    pub(crate) fn id(&self) -> JobId {
        JobId::of(&self.header().state)
    }

    /// Whether the outcome is there.
    pub(crate) fn is_done(&self) -> bool {
        self.header().state.is_done()
    }

    /// Moves the outcome to `out`.
    ///
    /// # Safety
    /// It is there and has not been taken, and `out` is room for a `Result<T, JoinError>` of the cell's `T`.
    pub(crate) unsafe fn take(&self, out: *mut ()) {
        // SAFETY: by the caller; the vtable is the cell's.
        unsafe { (self.header().vtable.take)(self.0, out) };
    }

    /// Runs the closure here, or drops it, if nobody has begun to, and says how it ended.
    pub(crate) fn settle_if_unclaimed(&self, run: bool) -> Option<Ran> {
        let settle = self.header().vtable.settle;
        // SAFETY: claimed just now; the vtable is the cell's.
        self.header().state.claim().then(|| unsafe { settle(self.0, run) })
    }

    /// Asks the closure to stop; somebody has claimed it. `true` for the first, if it has not ended. Wakes a future for that.
    pub(crate) fn ask_to_stop(&self) -> bool {
        let asked = self.header().state.ask();
        if asked {
            self.schedule_future();
        }
        asked
    }

    /// Wakes a future whose handle has asked it to stop, so that it sees that; it need not have a waker.
    fn schedule_future(&self) {
        let Some(schedule) = self.header().vtable.schedule else { return };
        // It may have ended meanwhile: then the word says that there is nothing to do. The handle is alive, so it is there.
        if self.header().turn.wake_by_ref() {
            // SAFETY: Life rule: the handle is alive; Turn rule: `wake_by_ref` has said that the job is ours to make.
            unsafe { schedule(self.0) };
        }
    }

    /// Whether it is a future's.
    pub(crate) fn is_of_future(&self) -> bool {
        self.header().vtable.schedule.is_some()
    }

    /// Leaves a waker for when the outcome is there; `false` if it is there already.
    pub(crate) fn wait_with(&self, waker: &Waker) -> bool {
        // User code, so before the slot is ours.
        let waker = waker.clone();
        let Slot::Ours { .. } = self.header().state.reclaim_slot() else {
            return false;
        };
        let former = self.swap_waker(Some(waker));
        let offered = self.header().state.offer_waker();
        let unused = if offered { None } else { self.swap_waker(None) };
        // User code again, after.
        drop((former, unused));
        offered
    }

    fn swap_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.header().waker.with_mut(|slot| {
            // SAFETY: Slot rule: `WAKER` is clear, by both callers.
            mem::replace(unsafe { &mut *slot }, waker)
        })
    }

    /// Leaves an unfinished task to its job; `false`, and nothing has changed, if the outcome is there.
    ///
    /// After `true` the handle must not be used again.
    #[must_use]
    pub(crate) fn abandon(&self) -> bool {
        let former = match self.header().state.reclaim_slot() {
            Slot::Ours { filled: true } => self.swap_waker(None),
            _ => None,
        };
        let abandoned = self.header().state.abandon();
        // User code, after our last use of the cell.
        crate::drop_contained(former);
        abandoned
    }

    /// Releases a finished task whose outcome has been taken; the handle must not be used again.
    pub(crate) fn release(&self) {
        let free = self.header().vtable.free;
        if self.header().state.release_handle() {
            // SAFETY: Life rule: both sides have been released.
            unsafe { free(self.0) };
        }
    }
}
