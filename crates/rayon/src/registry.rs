//! The state shared by the threads of a pool, and which of them the calling thread is.

use core::cell::{Cell, RefCell};
use core::fmt;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::{Arc, OnceLock};

use brigade::foreign::{self, ScopeWith};
use brigade::{Handle, LocalPool, Reason};
use brigade_sync::Mutex;

/// A function that gets the payload of a panic.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// For each thread of a pool, closures in the order in which the thread added them.
///
/// Each has a job, which runs the oldest closure of the queue at the time. So the closures of a thread start in their order
/// although the jobs may not.
pub(crate) struct Fifos<T>(Box<[Mutex<VecDeque<T>>]>);

impl<T> Fifos<T> {
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Mutex::new(VecDeque::new())).collect())
    }

    pub(crate) fn push(&self, thread: usize, closure: T) {
        self.0[thread].lock().push_back(closure);
    }

    /// Takes the oldest closure; there is a closure for each job.
    pub(crate) fn pop(&self, thread: usize) -> T {
        match self.0[thread].lock().pop_front() {
            Some(closure) => closure,
            None => unreachable!("each job has a closure"),
        }
    }
}

/// A closure of `spawn_fifo`.
type Spawned = Box<dyn FnOnce() + Send>;

/// The state shared by the threads of a pool.
pub(crate) struct Registry {
    /// Set once the pool has been built; the threads may run before.
    handle: OnceLock<Handle>,
    pub(crate) num_threads: usize,
    /// The closures of `spawn_fifo`.
    pub(crate) fifos: Fifos<Spawned>,
    panic_handler: Option<PanicHandler>,
}

thread_local! {
    /// The pool of this thread.
    static CURRENT: RefCell<Option<Arc<Registry>>> = const { RefCell::new(None) };

    /// The same pool, if this is the pool's only thread and the program has started it.
    static OWNED: Cell<Option<&'static LocalPool>> = const { Cell::new(None) };
}

/// Calls a closure on the calling thread: if it [owns](Registry::own) a pool, as the worker of the pool.
pub(crate) fn as_worker<R>(call: impl FnOnce() -> R) -> R {
    match OWNED.get().filter(|_| foreign::here(|worker| worker.is_none())) {
        Some(pool) => pool.run_until(async { call() }),
        None => call(),
    }
}

fn accepted<R>(result: Result<R, Reason>) -> R {
    match result {
        Ok(result) => result,
        Err(reason) => panic!("cannot run on the pool: {reason}"),
    }
}

/// The index of the calling thread, which belongs to a pool of this crate.
fn index() -> Option<usize> {
    brigade::current_worker_index().or_else(|| OWNED.get().map(|_| 0))
}

impl Registry {
    pub(crate) fn new(num_threads: usize, panic_handler: Option<PanicHandler>) -> Self {
        let fifos = Fifos::new(num_threads);
        Self { handle: OnceLock::new(), num_threads, fifos, panic_handler }
    }

    pub(crate) fn built(&self, handle: Handle) {
        _ = self.handle.set(handle);
    }

    /// The pool.
    pub(crate) fn handle(&self) -> Handle {
        // Without a handle, this is a thread of the pool being built.
        match self.handle.get().copied().or_else(Handle::current) {
            Some(handle) => handle,
            None => unreachable!("only the pool's threads see it before it has been built"),
        }
    }

    /// Handles a panic when no thread waits for it.
    pub(crate) fn panicked(&self, payload: Box<dyn Any + Send>) {
        let Some(handler) = &self.panic_handler else {
            eprintln!(
                "rayon-core on brigade: a spawned job panicked, and the pool has no panic handler; aborting"
            );
            process::abort();
        };
        if panic::catch_unwind(AssertUnwindSafe(|| handler(payload))).is_err() {
            eprintln!("rayon-core on brigade: the panic handler panicked; aborting");
            process::abort();
        }
    }

    /// Makes the calling thread this pool's, until `leave`.
    pub(crate) fn enter(self: &Arc<Self>) {
        CURRENT.set(Some(self.clone()));
    }

    /// Makes the calling thread the only thread of this pool for good, as rayon does: the pool is never freed.
    pub(crate) fn own(self: &Arc<Self>, pool: LocalPool) {
        self.built(pool.handle());
        OWNED.set(Some(Box::leak(Box::new(pool))));
        self.enter();
    }

    /// Takes the calling thread out of its pool.
    pub(crate) fn leave() {
        drop(CURRENT.take());
    }

    /// The index of the calling thread if it is this pool's.
    pub(crate) fn index_here(&self) -> Option<usize> {
        with_current(|current| {
            let is_own = current.is_some_and(|current| core::ptr::eq(&raw const **current, self));
            if is_own { index() } else { None }
        })
    }

    /// Calls a closure on a thread of the pool.
    pub(crate) fn install<F, R>(&self, call: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        accepted(as_worker(|| self.handle().install(call)))
    }

    /// Opens a scope, whose jobs get a value.
    pub(crate) fn open<'scope, X, R>(
        &self,
        value: X,
        body: impl FnOnce(&ScopeWith<'scope, X>) -> R,
    ) -> R
    where
        X: Sync + 'scope,
    {
        accepted(as_worker(|| foreign::in_place_scope_with(self.handle(), value, body)))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("num_threads", &self.num_threads).finish_non_exhaustive()
    }
}

/// Calls a closure, which runs no user code, with the pool of the calling thread.
#[inline]
pub(crate) fn with_current<R>(call: impl FnOnce(Option<&Arc<Registry>>) -> R) -> R {
    let mut call = Some(call);
    let mut call = |current: Option<&Arc<Registry>>| match call.take() {
        Some(call) => call(current),
        None => unreachable!("it is called once"),
    };
    match CURRENT.try_with(|current| call(current.borrow().as_ref())) {
        Ok(result) => result,
        // The destructors of thread-locals run.
        Err(_) => call(None),
    }
}

/// The pool of the calling thread.
pub(crate) fn current() -> Option<Arc<Registry>> {
    with_current(|current| current.cloned())
}

/// The most threads of a pool.
pub fn max_num_threads() -> usize {
    4096
}

/// The index of the calling thread in its pool; `None` if it belongs to no pool of this crate.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    with_current(|current| current.and_then(|_| index()))
}
