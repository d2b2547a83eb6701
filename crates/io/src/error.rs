//! The crate's own errors, beside those of the operating system.

use std::error::Error;
use std::fmt;
use std::io;

/// The reason why no pool waits for an I/O resource; [`io::Error::get_ref`] returns it.
///
/// ```
/// use brigade::io::{NoDriver, pipe};
/// let error = pipe().unwrap_err(); // This thread belongs to no pool.
/// let reason = error.get_ref().and_then(|error| error.downcast_ref());
/// assert_eq!(reason, Some(&NoDriver::None));
/// assert!(error.to_string().starts_with("no pool to wait for I/O here"));
/// assert!(brigade::Pool::new(1).handle().enter(pipe).is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoDriver {
    /// The resource would belong to no pool: it was created outside of jobs and tasks, of `brigade::block_on` and of
    /// `Handle::enter`. Without a pool: outside of [`Driver::enter`](crate::Driver::enter) and
    /// [`DriverSupply::enter`](crate::DriverSupply::enter).
    None,
    /// The pool of the resource has ended, or belongs to the parent process in the child of a fork. It can't
    /// wait for anything any more. Without a pool: the driver was [closed](crate::Driver::close).
    Closed,
}

impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => {
                "no pool to wait for I/O here: call this in a job or task of a pool, inside `block_on`, \
                 or inside `Handle::enter`"
            }
            Self::Closed => {
                "the pool that would wait for this I/O has ended, or belongs to the parent process"
            }
        })
    }
}

/// The message: a `main` that returns the error prints this.
impl fmt::Debug for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for NoDriver {}

pub(crate) fn no_driver() -> io::Error {
    io::Error::other(NoDriver::None)
}

pub(crate) fn driver_closed() -> io::Error {
    io::Error::other(NoDriver::Closed)
}

/// The system's error for a file that can't be added, or a clearer error.
pub(crate) fn not_added(error: io::Error) -> io::Error {
    match error.kind() {
        // The EPERM of epoll.
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::Unsupported,
            "a regular file, a directory or a device like /dev/null is always ready, so no event can be waited for: read and \
             write it in `brigade::blocking`, or by `brigade::io::fs`",
        ),
        _ => error,
    }
}

/// A list of addresses or the look-up of a name has none.
pub(crate) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "there is no address to connect to or to bind")
}
