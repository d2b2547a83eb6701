//! Scopes: any number of borrowing jobs, all of which have ended when the scope returns.
//!
//! **Scope rule.** A scope's state lies on the stack of the opening thread. The body, each job and each
//! future has a ticket, dropped after everything it borrows. The state lives until the last ticket has been returned
//! (see `tickets`).

use core::any::{Any, TypeId};
use core::future::Future;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop, align_of, size_of};
use core::pin::Pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll, Waker};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::{Mutex, call_user};

use super::Abort;
use super::fork::Wait;
use super::parcel::{FutureParcel, Parcel, ScopedJoinHandle};
use super::part::Part;
use super::tickets::{Tickets, keep_tickets, return_tickets};
use super::wakers::Wakers;
use crate::act::{Action, Outcome, Payload, inspect};
use crate::block::Boxed;
use crate::bounds::{Callable, Spawnable};
use crate::boxed::is_large;
use crate::cause::Cause;
use crate::cell::frames::cancel_polled;
use crate::cell::{JobContext, drop_cause};
use crate::contain::{contain, drop_contained};
use crate::error::JoinError;
use crate::job::Job;
use crate::join::JoinHandle;
use crate::region::{OfScope, Region};

/// A runner of the jobs of scopes: a pool.
pub trait Scopes: Sync {
    /// Runs or drops a job, on any thread, now or later.
    fn execute(&self, part: Part);

    /// Polls a future until it is ready, or drops it. Makes a job of the future and passes the job to `part`, once, for the first poll
    /// on any thread. Returns the handle, if the pool can [wait](Self::wait_for_future) for the future by the handle.
    fn spawn(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send>>,
        part: &mut dyn FnMut(Job) -> Part,
    ) -> Option<JoinHandle<()>>;

    /// Waits for a future, which may be polled meanwhile, or returns before the future has ended.
    fn wait_for_future(&self, _: &mut JoinHandle<()>) {}

    /// Sends a job to each worker, which alone may run it. Drops the job if the worker can't run it. `make` may be
    /// called more often than there are workers.
    ///
    /// A worker may wait for such a job only if every wait on its pool also runs the jobs bound to the waiting
    /// worker, even unawaited jobs: two jobs may wait for each other's worker.
    ///
    /// By default there is no worker.
    #[cfg(feature = "unstable-foreign")]
    #[doc(hidden)]
    fn broadcast(&self, _: &mut dyn FnMut() -> Part) {}

    /// Waits until the wait may be over, and may run jobs of the wait's region in the meantime.
    fn wait(&self, wait: Wait<'_>);

    /// Runs or drops a job on this thread, for the handle, and counts the outcome, if any. In the pool's own run of
    /// the job, the outcome is [`Outcome::Stale`] then.
    fn run_here(&self, run: &mut dyn FnMut() -> Option<Outcome>) {
        run();
    }

    /// Counts a panic of a scope's body whose payload has been dropped, because a job had panicked before.
    fn count_panic(&self) {}
}

/// The payload of an unwinding future of a scope if the panic itself is held by the scope or by the future's handle.
///
/// The pool counts the panic, but must not report it.
#[derive(Debug)]
pub struct HeldPanic;

/// The part of a scope used by the jobs.
#[repr(C)]
pub(super) struct State {
    tickets: Tickets,
    /// The context entered by the jobs.
    context: JobContext,
    is_cancelled: AtomicBool,
    rare: Mutex<Option<Box<Rare>>>,
}

/// The rarely needed parts of a state. Separate, as a recursion of scopes has a state a level on the stack.
#[derive(Default)]
struct Rare {
    /// The payload of the first panic.
    panic: Option<Box<dyn Any + Send>>,
    /// The wakers of unfinished futures, to be woken when the scope is cancelled.
    futures: Wakers,
}

/// The address of a scope is that of its tickets.
const _: () = assert!(mem::offset_of!(State, tickets) == 0);

impl State {
    fn region(&self) -> Region {
        Region(ptr::from_ref(self).addr())
    }

    /// Calls a closure with the wakers, under the lock.
    fn with_wakers<R>(&self, call: impl FnOnce(&mut Wakers) -> R) -> R {
        call(&mut self.rare.lock().get_or_insert_default().futures)
    }

    /// Stores a payload. Returns `false`, and drops the payload, if there was a panic before.
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) -> bool {
        let mut rare = self.rare.lock();
        let first = &mut rare.get_or_insert_default().panic;
        let late = match &*first {
            None => {
                *first = Some(payload);
                None
            }
            Some(_) => Some(payload),
        };
        drop(rare);
        let is_first = late.is_none();
        drop_contained(late);
        is_first
    }

    /// Stores the payload of a job; returns the outcome.
    #[cold]
    fn hold_panic(&self, payload: Box<dyn Any + Send>) -> Outcome {
        self.panicked(payload);
        Outcome::Panicked
    }

    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        // Ordering: Relaxed: the flag is a request.
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The cause for which an unrun job ends: the scope was cancelled, or another cause.
    #[cold]
    fn stop_cause(&self, other: impl FnOnce() -> Cause) -> Cause {
        if self.is_cancelled() { Cause::Asked } else { other() }
    }
}

/// The ticket of a job.
struct Ticket(NonNull<State>);

// SAFETY: Scope rule; the state is `Sync`.
unsafe impl Send for Ticket {}

impl Ticket {
    fn state(&self) -> &State {
        // SAFETY: Scope rule: the state lives until this ticket has been dropped.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Ticket {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: Scope rule: the ticket was issued, and is returned once.
        let tickets = unsafe { &raw const (*self.0.as_ptr()).tickets };
        // SAFETY: Scope rule, as above.
        unsafe { Tickets::end_one(tickets) };
    }
}

/// A scope of borrowing jobs. All jobs have ended when the call that opened the scope returns.
///
/// `'scope` is the lifetime in which jobs may be added, and `'env` the lifetime of the data borrowed by the jobs, as
/// for [`std::thread::Scope`]. A job may add more jobs.
pub struct Scope<'scope, 'env: 'scope> {
    state: State,
    pool: NonNull<dyn Scopes>,
    /// Neither longer nor shorter: a job with a shorter borrow must not be added.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: the state is `Sync`, and the pool is by its trait.
unsafe impl Sync for Scope<'_, '_> {}
// SAFETY: as above; a borrowed scope is never moved.
unsafe impl Send for Scope<'_, '_> {}

/// A pointer for a job to the scope, or to the value around the scope.
pub(super) struct Here<S>(NonNull<S>);

// SAFETY: the pointer is used as a reference.
unsafe impl<S: Sync> Send for Here<S> {}
// SAFETY: as above.
unsafe impl<S: Sync> Sync for Here<S> {}

impl<S> Here<S> {
    /// # Safety
    /// The pointee must live as long as this value.
    pub(super) unsafe fn new(pointee: &S) -> Self {
        Self(NonNull::from(pointee))
    }

    pub(super) fn get(&self) -> &S {
        // SAFETY: guaranteed by the caller of `new`.
        unsafe { self.0.as_ref() }
    }
}

/// The work of a job: a closure, with or without a handle.
pub(super) trait ScopedWork: Send {
    /// Runs it; returns the outcome of the job.
    fn run(self) -> Outcome;

    /// Drops it for this cause; returns the outcome of the job.
    fn cancel(self, cause: Cause) -> Outcome;

    /// Whether it has been claimed through the handle.
    fn is_stale(&self) -> bool {
        false
    }

    /// Drops it if it is stale.
    fn leave(self) -> Outcome
    where
        Self: Sized,
    {
        Outcome::Stale
    }
}

/// The first poll of a future.
impl ScopedWork for Box<Job> {
    fn run(self) -> Outcome {
        Job::run(*self)
    }

    fn cancel(self, cause: Cause) -> Outcome {
        Job::cancel(*self, cause)
    }

    fn is_stale(&self) -> bool {
        Job::is_stale(self)
    }

    fn leave(self) -> Outcome {
        self.consume(Action::Leave, ptr::null_mut())
    }
}

impl<F: FnOnce() + Send> ScopedWork for F {
    #[inline]
    fn run(self) -> Outcome {
        call_user(self);
        Outcome::Returned
    }

    fn cancel(self, cause: Cause) -> Outcome {
        drop_contained(self);
        Outcome::Cancelled(cause)
    }
}

/// The work of a job. The ticket comes first: a pointer to it is the address of the job's region.
#[repr(C)]
struct Ticketed<W> {
    ticket: ManuallyDrop<Ticket>,
    work: ManuallyDrop<W>,
}

/// The work of a job where it lies, in the payload: a recursion of scopes would have a copy on the stack for each level.
struct Lying<'a, W>(&'a mut ManuallyDrop<W>);

impl<'a, W: ScopedWork> Lying<'a, W> {
    /// # Safety
    /// Nothing else takes the work.
    unsafe fn new(work: &'a mut ManuallyDrop<W>) -> Self {
        Self(work)
    }

    #[inline]
    fn run(self) -> Outcome {
        // SAFETY: guaranteed by the caller of `new`; once, as this is consumed.
        unsafe { ManuallyDrop::take(self.0) }.run()
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    #[inline]
    pub(super) fn new(pool: &(dyn Scopes + '_)) -> Self {
        let pool: NonNull<dyn Scopes + '_> = NonNull::from(pool);
        // SAFETY: only the lifetime changes; the functions below make a scope and drop it while they have the
        // reference.
        let pool: NonNull<dyn Scopes> = unsafe { mem::transmute(pool) };
        let state = State {
            tickets: Tickets::new(),
            context: JobContext::current(),
            is_cancelled: AtomicBool::new(false),
            rare: Mutex::new(None),
        };
        Self { state, pool, scope: PhantomData, env: PhantomData }
    }

    pub(super) fn pool(&self) -> &(dyn Scopes + 'static) {
        // SAFETY: the pool outlives this, as `new` says.
        unsafe { self.pool.as_ref() }
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    #[inline]
    fn ticket(&self) -> Ticket {
        self.state.tickets.issue();
        Ticket(NonNull::from(&self.state))
    }

    /// Runs a closure on the pool. The closure may borrow everything that outlives the scope.
    ///
    /// A closure of up to 16 bytes is queued without an allocation. A closure of up to 64 bytes is stored in memory that this thread
    /// has kept of closures that it has run, at most 64 of them. The scope resumes a panic of the closure, once all jobs have ended.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut halves = [vec![3, 1, 2], vec![9, 7, 8]];
    /// pool.scope(|s| {
    ///     for half in &mut halves {
    ///         s.execute(|| half.sort());
    ///     }
    /// })?;
    /// assert_eq!(halves, [[1, 2, 3], [7, 8, 9]]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "spawn")]
    #[inline(always)]
    pub fn execute<F: Callable + Send + 'scope>(&self, closure: F) {
        let part =
            if size_of::<F>() <= 2 * size_of::<usize>() && align_of::<F>() <= align_of::<usize>() {
                self.part(closure)
            } else {
                let closure = Boxed::new(closure);
                self.part(move || closure.into_inner()())
            };
        self.pool().execute(part);
    }

    /// Like [`execute`](Self::execute), and passes the scope to the closure. A closure may also capture the scope, if
    /// the scope was borrowed for `'scope`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let (pool, ran) = (brigade::Pool::new(2), AtomicU32::new(0));
    /// pool.scope(|s| {
    ///     s.execute_with(|s| {
    ///         ran.fetch_add(1, Ordering::Relaxed);
    ///         s.execute(|| _ = ran.fetch_add(1, Ordering::Relaxed));
    ///     });
    /// })?;
    /// assert_eq!(ran.into_inner(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline(always)]
    pub fn execute_with<F: FnOnce(&Self) + Send + 'scope>(&self, closure: F) {
        // SAFETY: Scope rule: the job has a ticket, so the scope, which contains the state, is alive.
        let here = unsafe { Here::new(self) };
        self.execute(move || closure(here.get()));
    }

    /// Makes a job of work of a fitting size.
    #[inline(always)]
    pub(super) fn part<W: ScopedWork + 'scope>(&self, work: W) -> Part {
        let (ticket, work) = (ManuallyDrop::new(self.ticket()), ManuallyDrop::new(work));
        let work = Ticketed { ticket, work };
        // SAFETY: the work fits, as checked by the caller (a box is a word), and `act` expects it. Scope rule: the
        // work's borrows live until the ticket has been dropped.
        let job = unsafe { Job::from_raw(act::<W>, work) };
        // SAFETY: Part rule: the ticket is first, a pointer to the state.
        unsafe { Part::new(job) }
    }

    /// Runs a closure on the pool, and returns a handle for the result. The closure may borrow everything that
    /// outlives the scope.
    ///
    /// A panic of the closure goes to the handle. If the handle is dropped, the scope resumes the panic.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let words = vec!["to", "borrow"];
    /// let letters = pool.scope(|s| {
    ///     let first = s.submit(|| words[0].len());
    ///     let second = s.submit(|| words[1].len());
    ///     Ok::<_, brigade::JoinError>(first.join()? + second.join()?)
    /// })??;
    /// assert_eq!(letters, 8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn submit<F, T>(&'scope self, closure: F) -> ScopedJoinHandle<'scope, T>
    where
        F: Callable<T> + Send + 'scope,
        T: Send + 'scope,
    {
        match const { is_large::<F>() } {
            true => self.submit_stored(Box::new(closure)),
            false => self.submit_stored(closure),
        }
    }

    /// Like [`submit`](Self::submit), for a closure stored with the result.
    fn submit_stored<F, T>(&'scope self, closure: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (parcel, handle) = Parcel::new(Some(closure), self);
        self.pool().execute(self.part(parcel));
        handle
    }

    /// Polls a future on the pool, and returns a handle for the result. The future may borrow everything that
    /// outlives the scope.
    ///
    /// A panic of the future goes to the handle. If the handle is dropped, the scope resumes the panic. A future that
    /// is never ready keeps the scope from returning, until it is [cancelled](Self::cancel) or the pool ends.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let word = String::from("borrowed");
    /// let letters = pool.scope(|s| s.spawn(async { word.len() }).join())??;
    /// assert_eq!(letters, 8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn<F>(&'scope self, future: F) -> ScopedJoinHandle<'scope, F::Output>
    where
        F: Spawnable + Send + 'scope,
        F::Output: Send + 'scope,
    {
        let (parcel, mut handle) = Parcel::new(None, self);
        let inner = Some((Box::pin(future), self.ticket()));
        let future: BoxedFuture<'scope> = Box::pin(ScopedFuture { inner, parcel, listed: None });
        // SAFETY: only the lifetime changes. Scope rule: the future's borrows live until the ticket has been dropped.
        let future = unsafe { mem::transmute::<BoxedFuture<'scope>, BoxedFuture<'static>>(future) };
        handle.future = self.pool().spawn(future, &mut |job| self.part(Box::new(job)));
        handle
    }

    /// Cancels the unstarted jobs and the unfinished futures. Running jobs can check
    /// [`is_cancelled`](Self::is_cancelled). Jobs added later are cancelled too.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let late = pool.scope(|s| {
    ///     s.cancel();
    ///     s.submit(|| "never runs").join()
    /// })?;
    /// assert!(late.unwrap_err().is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(&self) {
        // Under the lock that guards the list of wakers: either the future sees the flag, or the waker is in
        // the list.
        let wakers = self.state.with_wakers(|wakers| {
            self.state.is_cancelled.store(true, Ordering::Relaxed);
            wakers.take_all()
        });
        for waker in wakers {
            contain(|| waker.wake());
        }
    }

    /// Returns whether the scope has been [cancelled](Self::cancel).
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// pool.scope(|s| {
    ///     let search = s.submit(|| (0_u64..).find(|_| s.is_cancelled()));
    ///     s.cancel();
    ///     assert!(search.join().is_err() || s.is_cancelled());
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled()
    }

    /// Calls the body, waits for all jobs, and resumes the first panic.
    #[inline]
    pub(super) fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        let _kept = keep_tickets(Some(self.state.region()));
        let returned = self.call(body);
        if !self.state.tickets.end_body() {
            self.wait();
        }
        self.result(returned)
    }

    /// Calls the body; `None` if it panics. The frame does not lie on the stack while the scope waits.
    #[inline(never)]
    fn call<R>(&self, body: impl FnOnce() -> R) -> Option<R> {
        let hold = |payload| {
            if !self.state.panicked(payload) {
                self.pool().count_panic();
            }
        };
        panic::catch_unwind(AssertUnwindSafe(body)).map_err(hold).ok()
    }

    /// Waits for the tickets of the jobs.
    #[inline(always)]
    fn wait(&self) {
        let wait = || Wait::new(&self.state.tickets.latch, self.state.region());
        let bomb = Abort;
        while !wait().is_set() {
            self.pool().wait(wait());
            if !wait().is_set() {
                return_last_tickets();
            }
        }
        mem::forget(bomb);
    }

    /// Returns the result of the body, once all jobs have ended, or resumes a panic.
    fn result<R>(&self, returned: Option<R>) -> R {
        let first = self.state.rare.lock().take().and_then(|rare| rare.panic);
        match (first, returned) {
            (None, Some(returned)) => returned,
            (Some(payload), returned) => {
                drop_contained(returned);
                panic::resume_unwind(payload)
            }
            (None, None) => unreachable!("the first panic is stored"),
        }
    }
}

/// Returns the tickets of the jobs that a pool's [`Scopes::wait`] has run. Not inlined, for the frames of a recursion.
#[cold]
#[inline(never)]
fn return_last_tickets() {
    return_tickets();
}

/// The function of a job of a scope.
///
/// # Safety
/// Payload rule of [`crate::job`]; `out` must be as the action says.
unsafe fn act<W: ScopedWork>(payload: *mut Payload, action: Action, out: *mut ()) -> Outcome {
    // SAFETY: Payload rule: the payload is a `Ticketed<W>`.
    let ticketed = unsafe { &mut *payload.cast::<Ticketed<W>>() };
    if action != Action::Run || ticketed.ticket.state().is_cancelled() {
        // SAFETY: guaranteed by the caller.
        return unsafe { act_unrun(ticketed, action, out) };
    }
    // SAFETY: the action consumes the payload. The ticket is dropped last, even on unwinding.
    let ticket = unsafe { ManuallyDrop::take(&mut ticketed.ticket) };
    // SAFETY: as above.
    let work = unsafe { Lying::new(&mut ticketed.work) };
    let context = ticket.state().context;
    let call = || match context.is_current() {
        true => work.run(),
        // SAFETY: Scope rule: the opening thread waits for the ticket.
        false => unsafe { context.enter_elsewhere(|| work.run()) },
    };
    let ran = panic::catch_unwind(AssertUnwindSafe(call));
    ran.unwrap_or_else(|payload| ticket.state().hold_panic(payload))
}

/// The rest of [`act`]: all actions but the run, and the run in a cancelled scope.
///
/// # Safety
/// As for `act`.
#[cold]
unsafe fn act_unrun<W: ScopedWork>(
    ticketed: &mut Ticketed<W>,
    action: Action,
    out: *mut (),
) -> Outcome {
    // SAFETY: `out` is as the action says, guaranteed by the caller.
    if unsafe { inspect(action, out, TypeId::of::<OfScope>, &|| ticketed.work.is_stale(), &|_| ()) }
    {
        return Outcome::Stale;
    }
    // SAFETY: the action consumes the payload. The ticket is dropped last, even on unwinding.
    let ticket = unsafe { ManuallyDrop::take(&mut ticketed.ticket) };
    // SAFETY: as above.
    let work = unsafe { ManuallyDrop::take(&mut ticketed.work) };
    match action {
        Action::Leave => work.leave(),
        _ => {
            let context = ticket.state().context;
            let cancel = || work.cancel(ticket.state().stop_cause(|| action.cause(out)));
            // SAFETY: Scope rule: the opening thread waits for the ticket.
            unsafe { context.enter(cancel) }
        }
    }
}

type BoxedFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A future with a ticket, until the future is ready.
struct ScopedFuture<F: Spawnable> {
    inner: Option<(Pin<Box<F>>, Ticket)>,
    parcel: Arc<FutureParcel<F::Output>>,
    /// The waker in the scope's list, with the key.
    listed: Option<(usize, Waker)>,
}

impl<F: Spawnable> ScopedFuture<F> {
    /// Puts the waker of this poll into the scope's list.
    fn list(&mut self, waker: &Waker) {
        let Some((_, ticket)) = &self.inner else { return };
        if self.listed.as_ref().is_some_and(|(_, listed)| listed.will_wake(waker)) {
            return;
        }
        // Wakers are cloned and dropped outside of the lock.
        let (copy, waker) = (waker.clone(), waker.clone());
        let former = self.listed.take();
        let key = former.as_ref().map(|&(key, _)| key);
        let (key, replaced) = ticket.state().with_wakers(|wakers| wakers.set(key, copy));
        self.listed = Some((key, waker));
        drop_contained((former, replaced));
    }

    /// Drops the future, removes the waker from the list, delivers the result, and gives up the ticket. Returns the outcome.
    fn end(&mut self, result: Result<F::Output, JoinError>) -> Option<Outcome> {
        let (future, ticket) = self.inner.take()?;
        // SAFETY: Scope rule: the opening thread waits for the ticket.
        unsafe { ticket.state().context.enter(|| drop_contained(future)) };
        if let Some((key, waker)) = self.listed.take() {
            let listed = ticket.state().with_wakers(|wakers| wakers.remove(key));
            drop_contained((waker, listed));
        }
        let finished = panic::catch_unwind(AssertUnwindSafe(|| self.parcel.finish(result)));
        Some(finished.unwrap_or_else(|payload| ticket.state().hold_panic(payload)))
    }
}

impl<F: Spawnable> Drop for ScopedFuture<F> {
    fn drop(&mut self) {
        let Some((_, ticket)) = &self.inner else { return };
        let cause = ticket.state().stop_cause(drop_cause);
        self.end(Err(JoinError::Cancelled(cause)));
    }
}

impl<F: Spawnable> Future for ScopedFuture<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // `cancel` sets the flag, which is read below, under the lock of the list.
        self.list(context.waker());
        let Some((future, ticket)) = &mut self.inner else { return Poll::Ready(()) };
        let mut result = Err(JoinError::Cancelled(Cause::Asked));
        if !ticket.state().is_cancelled() {
            let poll = || future.as_mut().poll_spawned(context);
            // SAFETY: Scope rule: the opening thread waits for the ticket.
            let poll = || unsafe { ticket.state().context.enter(poll) };
            result = match panic::catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(value)) => Ok(value),
                Err(payload) => Err(JoinError::panicked(payload)),
            };
        }
        match self.end(result) {
            Some(Outcome::Panicked) => panic::resume_unwind(Box::new(HeldPanic)),
            Some(Outcome::Cancelled(cause)) => cancel_polled(cause),
            _ => {}
        }
        Poll::Ready(())
    }
}

/// Opens a scope: calls `body` with it, and returns once all jobs have ended.
///
/// # Panics
/// With the payload of the first panic of the body or of a job, once all jobs have ended.
#[inline(always)]
pub fn scope<'env, F, R>(pool: &dyn Scopes, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope::new(pool);
    scope.run(|| body(&scope))
}

brigade_sync::opaque!(Scope<'_, '_>: is_cancelled);
