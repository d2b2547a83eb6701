//! The pool of the process.

use std::io;

use brigade_sync::OnceLock;
use brigade_sync::fork::PerProcess;
use brigade_sync::unmodelled::Mutex;

use crate::handle::Handle;
use crate::pool::Pool;

/// Not shared with forked children: a child forked while another thread creates the pool would wait for it forever.
static DEFAULT: PerProcess<OnceLock<Pool>> = PerProcess::new();

/// The pool without threads in its place, as long as its threads can't be started. The lock is held while either is created, so that only
/// a single pool of each kind is.
static SUBSTITUTE: PerProcess<Mutex<Option<&'static Pool>>> = PerProcess::new();

/// Returns the process-wide pool, which is created with the default configuration on first use.
///
/// It is never dropped: its jobs end with the process. [Join](crate::JoinHandle::join) them, or call
/// [`shutdown(Shutdown::Finish)`](Handle::shutdown) before `main` returns. A library should take a [`Handle`] from its
/// caller rather than start the threads of this pool.
///
/// On a system without threads it is a pool [without threads](crate::Builder::without_threads), whose jobs run in the waits of their
/// submitters. So it is while its first thread can't be started, for want of memory for example: each further call that needs the pool tries
/// again. As soon as the thread starts, the pool also runs the jobs that were submitted before.
///
/// A forked child has a default pool of its own, which is created on first use, with the default configuration also if the parent has
/// [set](set_default_pool) a pool. Jobs of the parent's do not run in it.
///
/// # Panics
/// If `BRIGADE_THREADS` is not a number of threads.
///
/// # Examples
/// ```
/// assert_eq!(brigade::default_pool().submit(|| 42).join()?, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[doc(alias = "build_global")]
#[track_caller]
pub fn default_pool() -> &'static Pool {
    match DEFAULT.existing().and_then(OnceLock::get) {
        Some(pool) => pool,
        None => new(),
    }
}

#[cold]
#[track_caller]
fn new() -> &'static Pool {
    // Not by the closure of `get_or_init`, because its panic could not name the caller's line.
    let mut substitute = SUBSTITUTE.get().lock();
    if let Some(pool) = DEFAULT.get().get() {
        return pool;
    }
    let error = match Pool::builder().build() {
        Ok(pool) => {
            // Unless a pool has been set meanwhile.
            let pool = DEFAULT.get().get_or_init(|| pool);
            take_over(&mut substitute, pool);
            return pool;
        }
        Err(error) => error,
    };
    let is_for_good = error.kind() == io::ErrorKind::Unsupported;
    let without_threads = match (error.kind(), *substitute) {
        (io::ErrorKind::InvalidInput, _) => Err(error),
        (_, Some(pool)) => return pool,
        _ => Pool::builder().without_threads().build(),
    };
    match without_threads {
        Ok(pool) if is_for_good => DEFAULT.get().get_or_init(|| pool),
        Ok(pool) => substitute.insert(Box::leak(Box::new(pool))),
        Err(error) => {
            drop(substitute); // A panic hook may ask for the pool.
            panic!("cannot start the default pool: {error}")
        }
    }
}

/// Has the default pool run the jobs that were submitted while it could not be started.
fn take_over(substitute: &mut Option<&'static Pool>, pool: &Pool) {
    if let Some(left) = substitute.take() {
        pool.execute(|| _ = left.wait_idle());
    }
}

/// Makes `pool` the process-wide pool.
///
/// # Errors
/// Returns `pool` if this process already has a default pool, set or created before.
///
/// # Examples
/// ```
/// use brigade::Pool;
/// assert!(brigade::set_default_pool(Pool::new(1)).is_ok(), "it has not been used yet");
/// assert_eq!(brigade::default_pool().size(), 1..=1);
/// assert!(brigade::set_default_pool(Pool::new(2)).is_err(), "too late");
/// ```
pub fn set_default_pool(pool: Pool) -> Result<(), Pool> {
    let mut substitute = SUBSTITUTE.get().lock();
    DEFAULT.get().set(pool)?;
    DEFAULT.get().get().into_iter().for_each(|pool| take_over(&mut substitute, pool));
    Ok(())
}

/// The pool of the free functions.
#[inline]
#[track_caller]
pub(crate) fn here() -> Handle {
    match Handle::current() {
        Some(pool) => pool,
        None => default_pool().handle(),
    }
}
