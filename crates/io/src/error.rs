//! The crate's own errors, beside those of the operating system.

use std::error::Error;
use std::fmt;
use std::io;

/// Why there was no driver to register or to wait with; [`io::Error::get_ref`] has it.
///
/// ```
/// use brigade_io::{NoDriver, UdpSocket};
/// let error = UdpSocket::bind(([127, 0, 0, 1], 0)).unwrap_err();
/// assert!(error.get_ref().unwrap().is::<NoDriver>());
/// assert!(error.to_string().starts_with("no I/O driver on this thread"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoDriver {
    /// The thread has none: the call was made outside of [`Driver::enter`](crate::Driver::enter) and
    /// [`DriverSupply::enter`](crate::DriverSupply::enter).
    None,
    /// It was [closed](crate::Driver::close); or it belongs to the parent process, in the child of a fork. Nothing can be
    /// waited for any more.
    Closed,
}

impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => {
                "no I/O driver on this thread: call inside `Driver::enter`, or name the driver"
            }
            Self::Closed => "the I/O driver has been closed, or belongs to the parent process",
        })
    }
}

impl Error for NoDriver {}

pub(crate) fn no_driver() -> io::Error {
    io::Error::other(NoDriver::None)
}

pub(crate) fn driver_closed() -> io::Error {
    io::Error::other(NoDriver::Closed)
}
