//! The pool of the process, and submitting without naming one.

use std::sync::OnceLock;

use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::pool::Pool;
use crate::rejected::Rejected;

static DEFAULT: OnceLock<Pool> = OnceLock::new();

/// The process-wide pool, made with the default configuration when it is first asked for.
///
/// It is never dropped: what it still runs when the process exits is cut short. A library takes a [`Handle`]
/// from its caller rather than start threads here.
///
/// # Panics
/// If its threads can't be started.
pub fn default_pool() -> &'static Pool {
    DEFAULT.get_or_init(|| match Pool::builder().build() {
        Ok(pool) => pool,
        Err(error) => panic!("cannot start the default pool: {error}"),
    })
}

/// Makes `pool` the process-wide pool.
///
/// # Errors
/// Gives it back if there is one already, because it was set or has been used.
///
/// ```
/// use brigade::Pool;
/// brigade::set_default_pool(Pool::new(1)).expect("nobody has used it yet");
/// assert_eq!(brigade::default_pool().threads(), 1);
/// assert!(brigade::set_default_pool(Pool::new(2)).is_err(), "too late");
/// ```
pub fn set_default_pool(pool: Pool) -> Result<(), Pool> {
    DEFAULT.set(pool)
}

/// Submits a closure to the pool of the worker that this is called on, elsewhere to the [`default_pool`].
///
/// # Errors
/// Gives the closure back if that pool is being [discarded](crate::Shutdown::Discard).
///
/// ```
/// use std::sync::mpsc;
/// let (sender, receiver) = mpsc::channel();
/// brigade::execute(move || {
///     // On a worker by now: the child goes to the same pool.
///     brigade::execute(move || sender.send("child").unwrap()).unwrap();
/// })?;
/// assert_eq!(receiver.recv().unwrap(), "child");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn execute<F: FnOnce() + Send + 'static>(job: F) -> Result<(), Rejected<F>> {
    here().execute(job)
}

/// Like [`execute`], and gives a handle for the outcome.
///
/// # Errors
/// As for [`execute`].
pub fn submit<F, T>(job: F) -> Result<JoinHandle<T>, Rejected<F>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    here().submit(job)
}

#[inline]
fn here() -> Handle {
    Handle::current().unwrap_or_else(|| default_pool().handle())
}
