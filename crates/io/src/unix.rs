//! Unix-domain sockets.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};

use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::kind::Kind;
use crate::socket::{self, socket};

/// A connection of Unix-domain sockets.
///
/// ```
/// use brigade_io::{Driver, UnixStream};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
/// let driver = Driver::new()?;
/// let (mut near, mut far) = driver.enter(UnixStream::pair)?;
/// let received = future::block_on(async {
///     near.write_all(b"hello").await?; // there is room, so the driver need not run
///     let mut received = [0; 5];
///     far.read_exact(&mut received).await?;
///     std::io::Result::Ok(received)
/// })?;
/// assert_eq!(&received, b"hello");
/// # std::io::Result::Ok(())
/// ```
pub type UnixStream = Async<net::UnixStream>;

/// A Unix-domain socket that accepts connections.
pub type UnixListener = Async<net::UnixListener>;

impl Async<net::UnixListener> {
    /// Listens at a path, which must not exist and is not removed in the end.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, for example if the path exists.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::UnixListener::bind(path)?)
    }

    /// Waits for a connection and registers it with the listener's driver.
    ///
    /// # Errors
    /// The system's: for example that it has no more file descriptors. The next call may succeed.
    ///
    /// # Cancel safety
    /// If the future is dropped, no connection is lost.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        socket::accept(self, Kind::MESSAGES, net::UnixListener::accept).await
    }

    /// Returns a stream of connections, which does not end.
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming(self)
    }
}

/// The connections of a [`UnixListener`], made by its method `incoming`.
#[derive(Debug)]
pub struct UnixIncoming<'a>(&'a UnixListener);

impl Stream for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        socket::poll_accept(self.0, Kind::MESSAGES, context, net::UnixListener::accept).map(Some)
    }
}

impl Async<net::UnixStream> {
    /// Connects to a path.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's: [`NotFound`](io::ErrorKind::NotFound),
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused). On Linux it is
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the listener's queue is full: the kernel reports no event when that
    /// changes.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let driver = Driver::current()?;
        let address = SocketAddrUnix::new(path.as_ref())?;
        let socket = socket(AddressFamily::UNIX)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => Self::register(&driver, net::UnixStream::from(socket), Kind::MESSAGES),
            Err(Errno::INPROGRESS | Errno::INTR) => {
                let socket = net::UnixStream::from(socket);
                let stream = Self::register(&driver, socket, Kind::MESSAGES.connecting())?;
                stream.source().first_writable().await?;
                stream.get_ref().take_error()?.map_or(Ok(stream), Err)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes two sockets that are connected to each other.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, if it has no more file descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let driver = Driver::current()?;
        let (one, other) = net::UnixStream::pair()?;
        let one = Self::register(&driver, one, Kind::MESSAGES)?;
        Ok((one, Self::register(&driver, other, Kind::MESSAGES)?))
    }

    /// Shuts down one direction of the connection, or both.
    ///
    /// # Errors
    /// The system's, for example if there is no connection any more.
    pub fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(which)
    }
}
