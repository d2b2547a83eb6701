//! The pool of the process.

use brigade_sync::OnceLock;
use brigade_sync::fork::PerProcess;
use brigade_sync::unmodelled::Mutex;

use crate::handle::Handle;
use crate::pool::Pool;

/// Not shared with forked children: a child forked while another thread creates the pool would wait for it forever.
static DEFAULT: PerProcess<OnceLock<Pool>> = PerProcess::new();

/// Held while the pool is created, so that only a single pool is created.
static STARTING: PerProcess<Mutex<()>> = PerProcess::new();

/// Returns the process-wide pool, which is created with the default configuration on first use.
///
/// It is never dropped: its jobs end with the process. [Join](crate::JoinHandle::join) them, or call
/// [`shutdown(Shutdown::Finish)`](Handle::shutdown) before `main` returns. A library should take a [`Handle`] from its
/// caller rather than start the threads of this pool.
///
/// A forked child has a default pool of its own, which is created on first use, with the default configuration also if the parent has
/// [set](set_default_pool) a pool. Jobs of the parent's do not run in it.
///
/// # Panics
/// If the pool's threads can't be started.
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
    let starting = STARTING.get().lock();
    if let Some(pool) = DEFAULT.get().get() {
        return pool;
    }
    match Pool::builder().build() {
        // Unless a pool has been set meanwhile.
        Ok(pool) => DEFAULT.get().get_or_init(|| pool),
        Err(error) => {
            drop(starting); // A panic hook may ask for the pool.
            panic!("cannot start the default pool: {error}")
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

/// The pool of the free functions.
#[inline]
#[track_caller]
pub(crate) fn here() -> Handle {
    match Handle::current() {
        Some(pool) => pool,
        None => default_pool().handle(),
    }
}
