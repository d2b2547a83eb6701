//! Borrowing work: fork and join, scopes, and calls on a pool's workers.

use core::future::Future;
use core::pin::Pin;
use std::panic::Location;
use std::sync::Arc;

use brigade_sync::Visit;
use brigade_task::{Forks, Job, Outcome, Part, Scopes, Wait};

use super::outside::{Uncalled, accepted, borrow, from_outside};
use crate::engine::{
    CURRENT, Group, Key, Shared, Worker, enter_outside, enter_pool, find, runs_in_place,
    wait_outside,
};
use crate::handle::Handle;
use crate::handle::join::Ended;
use crate::pool::here;
use crate::spawn::make_scopes;
use crate::values::{Priority, Reason};
pub use brigade_task::{Scope, ScopedJoinHandle};

impl Handle {
    /// Runs a closure on a worker of the pool, and returns its result. The closure may borrow.
    ///
    /// The calling thread waits; a worker of the pool calls the closure itself, at once. Forks and submissions of
    /// the closure through the [free functions](crate::join()) go to this pool.
    ///
    /// A calling worker of another pool is blocked meanwhile, so its own pool may start a thread in its place: up to 256
    /// beyond the [spare threads](crate::Builder::spare_threads). If each item of a parallel loop calls `install`, the
    /// pool of the loop gets that many threads. Call `install` once around the loop instead.
    ///
    /// # Errors
    /// The [`Reason`] if the pool does not run the closure, because
    /// - the pool has been closed, and the caller is not a job of this pool;
    /// - the pool has no thread and can't start a thread;
    /// - the pool is discarded before the closure runs;
    /// - the pool belongs to the parent of a fork.
    ///
    /// The closure has been dropped in these cases. To keep its captures, capture references, or pass the closure by
    /// reference: `pool.install(&call)`. A [capacity](crate::Builder::capacity) does not apply.
    ///
    /// # Panics
    /// If the closure panics, with its payload.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let words = vec!["to", "borrow"];
    /// let count = pool.install(|| words.iter().map(|word| word.len()).sum::<usize>())?;
    /// assert_eq!(count, 8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn install<F, R>(&self, call: F) -> Result<R, Reason>
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        let call = Uncalled(Some(call));
        let call = || call.take()();
        borrow(self.key, Location::caller(), |outside| match outside {
            None => Ok(with_worker_of(self.key, |worker| match worker {
                // The thread may have entered another pool.
                Some(worker) => enter_pool(&worker.shared, call),
                None => call(),
            })),
            Some((shared, outside)) => {
                let call = || outside.run_call(call);
                let installed = brigade_task::install(
                    call,
                    |job| shared.inject(Priority::Normal, job),
                    |wait| wait_outside(self.key, wait),
                );
                installed.map_err(|_| shared.refusal())
            }
        })
    }

    /// Calls a closure with a [`Scope`] on a worker of the pool, and returns its result once all jobs of the scope
    /// have ended. Unless the scope is [cancelled](Scope::cancel), each closure added to it runs, even if the pool is
    /// [discarded](crate::Shutdown::Discard). Futures of the scope end as other futures of the pool.
    ///
    /// A job of the scope may borrow any value that outlives the scope. The closure itself runs on the pool, as in
    /// [`install`](Self::install). In an [`in_place_scope`](Self::in_place_scope) the calling thread runs the closure, and in
    /// a [`scope`](crate::scope()) of no certain pool also jobs.
    ///
    /// A worker that waits at the end runs only jobs of the scope and their descendants, and jobs bound to this
    /// thread: [local futures](crate::spawn_local()) and shares of broadcasts. So no unrelated job of the pool waits
    /// on the same stack for a lock held across the scope. With no job to run, the worker waits as in
    /// [`blocking`](crate::blocking). Inside 64 waits of this stack the worker takes no more jobs from
    /// other workers, but still runs the jobs added by this call.
    ///
    /// The last thread of the pool can't wait like this: all other threads of the pool, up to the limit of [spare
    /// threads](crate::Builder::spare_threads), are blocked. So the last thread runs any job of the pool. **If an
    /// unrelated job then needs a lock held across the scope, it waits forever.** A pool with enough spare threads,
    /// as by default, never reaches this state.
    ///
    /// Scopes may nest as deep as the stack is: a level of a recursion takes 0.4 kB of it beside the frames of the
    /// program, 2 kB in a debug build. So a worker's [default stack](crate::Builder::stack_size) of 2 MiB holds 5,000
    /// levels, or 1,000.
    ///
    /// # Errors
    /// As for [`install`](Self::install).
    ///
    /// # Panics
    /// With the payload of the first panic of the closure or of a job, once all jobs have ended.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let mut lines = vec![String::from("b"), String::from("a")];
    /// pool.scope(|s| {
    ///     for line in &mut lines {
    ///         s.execute(|| line.push('!'));
    ///     }
    /// })?;
    /// assert_eq!(lines, ["b!", "a!"]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn scope<'env, F, R>(&self, body: F) -> Result<R, Reason>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(body))
    }

    /// Like [`scope`](Self::scope), but calls the closure on the calling thread; only the jobs run on the pool.
    ///
    /// # Errors
    /// As for [`install`](Self::install). If the pool is closed meanwhile and rejects a job of the scope, the thread
    /// that adds the job runs it.
    ///
    /// # Panics
    /// As for [`scope`](Self::scope).
    ///
    /// # Examples
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// let pool = brigade::Pool::new(2);
    /// let here = Rc::new(Cell::new(0)); // It need not be `Send`.
    /// let mut there = 0;
    /// pool.in_place_scope(|s| {
    ///     s.execute(|| there = 1);
    ///     here.set(1);
    /// })?;
    /// assert_eq!((here.get(), there), (1, 1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn in_place_scope<'env, F, R>(&self, body: F) -> Result<R, Reason>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        in_place(*self, Plain(body))
    }
}

/// Calls a closure with the worker or guest of this pool as which the thread forks, if it does.
fn with_worker_of<R>(pool: Key, call: impl FnOnce(Option<&Worker>) -> R) -> R {
    CURRENT.with(|worker| {
        call(match worker {
            Some(own) if own.forks_for(pool) => worker,
            _ => None,
        })
    })
}

/// Calls two closures, in parallel if a worker is idle, and returns both results.
///
/// On a worker, `join` runs on that worker's pool. On any other thread, it runs on the [current pool](Handle::current), and
/// the calling thread takes part: it calls `a`, and `b` unless a worker has taken that. Then thread-locals are those of
/// the thread, [`current_worker`](crate::current_worker) is `None`, submissions are those of a thread outside, and
/// [`install`](Handle::install) runs a closure on a worker instead. The calling thread counts as one of the pool's threads
/// meanwhile, so a pool of four threads has three of its workers woken for the forks.
///
/// `b` is not allocated: it lies on the stack, and any worker may take it from
/// there until the caller has ended `a`. A fork that no worker has taken costs a few nanoseconds, so most recursions
/// need no minimum size for a fork.
///
/// While the caller waits for a `b` taken by another worker, it runs only descendants of `b`, and jobs bound to this
/// thread: [local futures](crate::spawn_local()) and shares of broadcasts. So no unrelated job of the pool waits on
/// the same stack for a lock held across the call. Inside 64 such waits the caller takes nothing more from other
/// workers; it runs its own forks at any depth. With no job to run, it waits as in [`blocking`](crate::blocking),
/// and the last possible thread of the pool waits as described for [`scope`](Handle::scope).
///
/// A pool does not grow beyond its core size for forks: see [`Builder::threads`](crate::Builder::threads).
///
/// Forks may nest as deep as the stack is: a level of a recursion takes 0.1 kB of it beside the frames of the program,
/// 2 kB in a debug build. So a worker's [default stack](crate::Builder::stack_size) of 2 MiB holds 16,000 levels, or
/// 1,000.
///
/// # Panics
/// If a closure panics, with its payload, once both have ended; with the payload of `a` if both panic. Outside of a
/// worker also as [`execute`](crate::execute()) does.
///
/// # Examples
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     match numbers {
///         [] => 0,
///         [number] => *number,
///         _ => {
///             let (left, right) = numbers.split_at(numbers.len() / 2);
///             let (left, right) = brigade::join(|| sum(left), || sum(right));
///             left + right
///         }
///     }
/// }
/// let numbers: Vec<u64> = (1..=1000).collect();
/// assert_eq!(sum(&numbers), 500_500);
/// ```
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    CURRENT.visit(Joins(a, b))
}

/// The two closures of a [`join`]. Not a closure itself, so that a panic for lack of a pool names the caller's line.
struct Joins<A, B>(A, B);

impl<A, B, RA, RB> Visit<Worker> for Joins<A, B>
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    type Output = (RA, RB);

    // Always: an argument of a call lies in memory. There `join` would copy the closures in wide loads, which wait for the narrow
    // stores just before: a third of the time of a fork with three captures.
    #[inline(always)]
    fn present(self, worker: &Worker) -> Self::Output {
        brigade_task::join(worker, self.0, self.1)
    }

    // Always: the cold path gets only the addresses of these copies, so the closures of `present` can stay in registers.
    #[inline(always)]
    #[track_caller]
    fn absent(self) -> Self::Output {
        join_from_outside(&mut Some(self.0), &mut Some(self.1))
    }
}

/// Like [`join`], on a thread that is no worker. Takes both closures.
#[cold]
#[track_caller]
fn join_from_outside<A, B, RA, RB>(a: &mut Option<A>, b: &mut Option<B>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (Some(a), Some(b)) = (a.take(), b.take()) else { unreachable!("they are given once") };
    from_outside(|| join(a, b))
}

/// Calls a closure with a [`Scope`], and returns its result once all jobs of the scope have ended.
///
/// On a worker, the scope is of that worker's pool. On any other thread, it is of the current pool, see [the pool of a call
/// that names none](Handle::current), and the calling thread takes part, as in [`join`](join()): it calls the closure, and
/// runs jobs of the scope while it waits for them. For the rest see [`Handle::scope`].
///
/// # Panics
/// With the payload of the first panic of the closure or of a job, once all jobs have ended. Outside of a worker also as
/// [`execute`](crate::execute()) does.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// let leaves = AtomicU32::new(0);
/// fn tree<'scope>(s: &'scope brigade::Scope<'scope, '_>, leaves: &'scope AtomicU32, depth: u32) {
///     match depth {
///         0 => _ = leaves.fetch_add(1, Ordering::Relaxed),
///         _ => (0..2).for_each(|_| s.execute(move || tree(s, leaves, depth - 1))),
///     }
/// }
/// brigade::scope(|s| tree(s, &leaves, 5));
/// assert_eq!(leaves.into_inner(), 32);
/// ```
#[track_caller]
pub fn scope<'env, F, R>(body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
    R: Send,
{
    match &ScopePool::of_worker(None) {
        Some(pool) => Plain(body).open(pool),
        None => scope_from_outside(&mut Some(body)),
    }
}

/// Like [`scope`](scope()), on a thread that is no worker. Takes the body. Not in the frames of a recursion.
#[cold]
#[inline(never)]
#[track_caller]
fn scope_from_outside<'env, F, R>(body: &mut Option<F>) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
    R: Send,
{
    let Some(body) = body.take() else { unreachable!("it is given once") };
    from_outside(|| scope(body))
}

/// Like [`scope`](scope()), but calls the closure on the calling thread; only the jobs run on the pool.
///
/// # Panics
/// As for [`scope`](scope()).
///
/// # Examples
/// ```
/// let mut there = 0;
/// brigade::in_place_scope(|s| s.execute(|| there = 1));
/// assert_eq!(there, 1);
/// ```
#[track_caller]
pub fn in_place_scope<'env, F, R>(body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    accepted(own_pool().unwrap_or_else(here).in_place_scope(body))
}

/// The pool whose worker this thread is.
#[inline]
fn own_pool() -> Option<Handle> {
    CURRENT.with(|worker| worker.map(|worker| Handle { key: worker.shared.key }))
}

/// The body of a scope. Unlike a closure, one that is called in two places can be inlined in both: the frames of a recursion of scopes are
/// as few and as short as can be.
pub(super) trait OpenScope<R> {
    fn open(self, pool: &ScopePool) -> R;
}

struct Plain<F>(F);

impl<'env, R, F> OpenScope<R> for Plain<F>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    #[inline(always)]
    fn open(self, pool: &ScopePool) -> R {
        brigade_task::scope(pool, self.0)
    }
}

/// Opens a scope of a pool on this thread.
#[inline(always)]
#[track_caller]
pub(super) fn in_place<R>(pool: Handle, scope: impl OpenScope<R>) -> Result<R, Reason> {
    match &ScopePool::of_worker(Some(pool.key)) {
        Some(pool) => Ok(scope.open(pool)),
        None => in_place_outside(pool.key, scope, Location::caller()),
    }
}

/// Opens a scope of a pool on a thread that does not fork as a worker of it.
#[cold]
#[inline(never)]
fn in_place_outside<R>(
    pool: Key,
    scope: impl OpenScope<R>,
    place: &'static Location<'static>,
) -> Result<R, Reason> {
    let scope = Uncalled(Some(scope));
    let open = || {
        // A thread that owns the pool is its worker by now.
        let pool = match ScopePool::of_worker(Some(pool)) {
            Some(own) => own,
            None => ScopePool::of_outside(pool)?,
        };
        Ok(scope.take().open(&pool))
    };
    borrow(pool, place, |outside| match outside {
        None => open(),
        Some((_, outside)) => outside.run_call(open),
    })
}

/// The pool of a scope.
pub(super) struct ScopePool {
    shared: Arc<Shared>,
    /// The worker that opened the scope, and the deque's position at that time.
    opened: Option<(usize, u64)>,
}

impl ScopePool {
    /// The pool that this thread forks as a worker of, if it is this one.
    #[inline]
    fn of_worker(pool: Option<Key>) -> Option<Self> {
        CURRENT.with(|worker| match worker {
            Some(worker) if pool.is_none_or(|pool| worker.forks_for(pool)) => Some(Self {
                shared: worker.shared.clone(),
                opened: Some((worker.index, worker.fork_position())),
            }),
            _ => None,
        })
    }

    fn of_outside(pool: Key) -> Result<Self, Reason> {
        let shared = find(pool)?;
        if shared.is_closed() {
            return Err(shared.refusal());
        }
        Ok(Self { shared, opened: None })
    }

    pub(super) fn key(&self) -> Key {
        self.shared.key
    }

    #[inline]
    fn wait_as(&self, worker: Option<&Worker>, wait: &Wait<'_>) {
        match worker {
            Some(worker) if worker.forks_for(self.key()) => {
                let own = self.position_on(worker, wait);
                if runs_in_place() {
                    worker.run_own_parts(wait.region(), own);
                }
                if !wait.is_over() {
                    worker.wait_for_part(*wait, own, Some(Group::of(self)));
                }
            }
            _ => {
                // The body may have forked.
                self.key().end_if_orphan();
                wait_outside(self.key(), *wait);
            }
        }
    }

    /// The position on a worker's deque at which the parts begin for which it waits.
    #[inline]
    fn position_on(&self, worker: &Worker, wait: &Wait<'_>) -> u64 {
        match self.opened {
            Some((index, opened)) if wait.has_parts() && index == worker.index => opened,
            _ => worker.fork_position(),
        }
    }

    /// The pool. `None` in a forked child: its locks may be held forever there, and its threads do not exist.
    pub(super) fn here(&self) -> Option<&Shared> {
        if self.key().is_here() { Some(&self.shared) } else { None }
    }
}

/// Calls a closure that runs a job of this pool on a thread that is no worker of it.
fn run_off(shared: &Shared, run: &mut dyn FnMut()) {
    // A pool that is closed, or about to be, would reject this thread's forks.
    if shared.refusal() == Reason::Closed { run() } else { enter_outside(shared, run) }
}

impl Scopes for ScopePool {
    fn execute(&self, part: Part) {
        with_worker_of(self.key(), |worker| match worker {
            Some(worker) => worker.execute_part(part),
            None => {
                let job = part.into_job();
                // The job must run for the scope to end, even if the pool is the parent's, has been closed, or has
                // no thread.
                let Some(shared) = self.here() else {
                    job.run();
                    return;
                };
                if let Err(job) = shared.inject(Priority::Normal, job) {
                    let mut job = Some(job);
                    run_off(shared, &mut || _ = job.take().map(Job::run));
                }
            }
        });
    }

    fn spawn(
        &self,
        future: Pin<Box<dyn Future<Output = ()> + Send>>,
        part: &mut dyn FnMut(Job) -> Part,
    ) -> Option<brigade_task::JoinHandle<()>> {
        let (job, handle) = make_scopes(self.key(), Group::of(self), future);
        let part = part(job);
        with_worker_of(self.key(), |worker| match worker {
            Some(worker) => worker.execute_part(part),
            // A rejected future is dropped, and so cancelled.
            None => {
                drop(self.here().map(|shared| shared.inject(Priority::Normal, part.into_job())))
            }
        });
        Some(handle)
    }

    fn wait_for_future(&self, future: &mut brigade_task::JoinHandle<()>) {
        // A forked child ends in `wait`.
        if self.here().is_some() && !future.is_finished() {
            Ended::wait(future.waiter(), self.key(), false);
        }
    }

    #[cfg(feature = "unstable-foreign")]
    fn broadcast(&self, make: &mut dyn FnMut() -> Part) {
        super::scope_with::broadcast(self, make);
    }

    fn wait(&self, wait: Wait<'_>) {
        CURRENT.with(|worker| self.wait_as(worker, &wait));
    }

    fn run_here(&self, run: &mut dyn FnMut() -> Option<Outcome>) {
        with_worker_of(self.key(), |worker| match (worker, self.here()) {
            (Some(worker), _) => {
                if let Some(outcome) = enter_pool(&worker.shared, run) {
                    worker.count_part(outcome);
                }
            }
            // The pool waits for this job, as for all accepted jobs.
            (None, Some(shared)) => {
                let _work = shared.off_pool();
                let mut outcome = None;
                run_off(shared, &mut || outcome = run());
                if let Some(outcome) = outcome {
                    shared.ledger.count(outcome);
                    shared.leaves_entry();
                }
            }
            (None, None) => _ = run(),
        });
    }

    fn count_panic(&self) {
        with_worker_of(self.key(), |worker| _ = worker.map(Forks::count_panic));
    }
}
