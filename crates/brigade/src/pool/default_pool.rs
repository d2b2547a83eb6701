//! The pool of the process.

use std::io;

use brigade_sync::OnceLock;
use brigade_sync::atomic::Ordering;
use brigade_sync::fork::PerProcess;
use brigade_sync::thread::NewThread;
use brigade_sync::unmodelled::{AtomicBool, Mutex};

use crate::engine::wait_until;
use crate::handle::Handle;
use crate::pool::Pool;

/// Not shared with forked children: a child forked while another thread creates the pool would wait for it forever.
static DEFAULT: PerProcess<OnceLock<Pool>> = PerProcess::new();

/// Held while the pool is created, so that only a single pool is created.
static STARTING: PerProcess<Mutex<()>> = PerProcess::new();

/// The pool without threads that is used while the default pool can start none.
static SUBSTITUTE: PerProcess<OnceLock<Pool>> = PerProcess::new();

/// Whether the substitute has been used since the default pool last took its jobs over.
static IS_SUBSTITUTED: AtomicBool = AtomicBool::new(false);

/// Returns the process-wide pool, which is created with the default configuration on first use.
///
/// It is never dropped: its jobs end with the process. [Join](crate::JoinHandle::join) them, or call
/// [`shutdown(Shutdown::Finish)`](Handle::shutdown) before `main` returns. A library should take a [`Handle`] from its
/// caller rather than start the threads of this pool.
///
/// On a system without threads it is a pool [without threads](crate::Builder::without_threads), whose jobs run in the waits of their
/// submitters. This returns such a pool also while the default pool has no thread and can't start one, for want of memory for example: each
/// further call tries again. As soon as a thread starts, another one runs the jobs that were submitted before.
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
        Some(pool) if !pool.may_be_empty() && !IS_SUBSTITUTED.load(Ordering::Relaxed) => pool,
        pool => find(pool),
    }
}

#[cold]
#[track_caller]
fn find(pool: Option<&'static Pool>) -> &'static Pool {
    let found = pool.map_or_else(start, Ok);
    let found = match found {
        Ok(pool) if pool.has_thread() => {
            take_over();
            Ok(pool)
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(error),
        _ => substitute(),
    };
    match found {
        Ok(pool) => pool,
        Err(error) => panic!("cannot start the default pool: {error}"),
    }
}

/// Creates the pool, without threads where the system has none.
fn start() -> io::Result<&'static Pool> {
    let _starting = STARTING.get().lock();
    if let Some(pool) = DEFAULT.get().get() {
        return Ok(pool);
    }
    let pool = Pool::builder().build().or_else(|error| match error.kind() {
        io::ErrorKind::Unsupported => Pool::builder().without_threads().build(),
        _ => Err(error),
    })?;
    // Unless a pool has been set meanwhile.
    Ok(DEFAULT.get().get_or_init(|| pool))
}

fn substitute() -> io::Result<&'static Pool> {
    // Ordering: Relaxed, here and below: a job submitted while another thread takes over runs in a wait of its submitter.
    IS_SUBSTITUTED.store(true, Ordering::Relaxed);
    let substitute = SUBSTITUTE.get();
    if let Some(pool) = substitute.get() {
        return Ok(pool);
    }
    let pool = Pool::builder().without_threads().build()?;
    Ok(substitute.get_or_init(|| pool))
}

/// Has a thread run the jobs that were submitted while none could be started. It is none of the default pool, which may be idle meanwhile.
fn take_over() {
    if IS_SUBSTITUTED.swap(false, Ordering::Relaxed) {
        let run = || {
            if let Some(left) = SUBSTITUTE.get().get() {
                left.shared.run_all(wait_until);
            }
        };
        let started = NewThread::new("brigade-substitute".into(), None, run).start();
        if started.is_err() {
            IS_SUBSTITUTED.store(true, Ordering::Relaxed);
        }
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
    DEFAULT.get().set(pool)
}

/// Ends the default pool, if there is one: a seeded run ends when all of its threads have.
#[cfg(brigade_seeded)]
pub(crate) fn drain_default_pool() {
    if let Some(pool) = DEFAULT.existing().and_then(OnceLock::get) {
        _ = pool.shutdown(crate::values::Shutdown::Drain);
    }
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
