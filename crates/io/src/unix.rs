//! Connections inside one machine.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};

use crate::asynchronous::Kind;
use crate::attempt::Left;
use crate::tcp::socket;
use crate::waiting::Direction;
use crate::{Async, Driver};

/// A connection inside this machine.
///
/// ```
/// use brigade_io::{Driver, UnixStream};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
/// let driver = Driver::new()?;
/// let (mut near, mut far) = driver.enter(UnixStream::pair)?;
/// let received = future::block_on(async {
///     near.write_all(b"hello").await?; // there is room, so nobody has to drive
///     let mut received = [0; 5];
///     far.read_exact(&mut received).await?;
///     std::io::Result::Ok(received)
/// })?;
/// assert_eq!(&received, b"hello");
/// # std::io::Result::Ok(())
/// ```
pub type UnixStream = Async<net::UnixStream>;

/// Where connections from this machine arrive.
pub type UnixListener = Async<net::UnixListener>;

impl Async<net::UnixListener> {
    /// Listens at a path, which must not be there yet and is not removed in the end.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, if the path is taken for example.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::UnixListener::bind(path)?)
    }

    /// Waits for a connection and registers it with the listener's driver.
    ///
    /// # Errors
    /// The system's: that it has no more file descriptors, for example. The next call may succeed.
    ///
    /// # Cancel safety
    /// No connection is lost if the future is dropped.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, from) = self.read_with(net::UnixListener::accept).await?;
        Ok((Async::register(self.driver(), stream, Kind::STREAM)?, from))
    }

    /// The connections, one after the other, without end.
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming(self)
    }
}

/// The connections that arrive at a [`UnixListener`].
#[derive(Debug)]
pub struct UnixIncoming<'a>(&'a UnixListener);

impl Stream for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let listener = self.0;
        let accept = net::UnixListener::accept;
        listener.poll_attempt(Direction::Read, context, accept, |_| Left::Unknown).map(|accepted| {
            Some(
                accepted.and_then(|(stream, _)| {
                    Async::register(listener.driver(), stream, Kind::STREAM)
                }),
            )
        })
    }
}

impl Async<net::UnixStream> {
    /// Connects to a path.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's: [`NotFound`](io::ErrorKind::NotFound),
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused). On Linux it is
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if as many wait already as the listener lets wait: the kernel has
    /// nothing to wait for then.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let driver = Driver::current()?;
        let address = SocketAddrUnix::new(path.as_ref())?;
        let socket = socket(AddressFamily::UNIX)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => Self::register(&driver, net::UnixStream::from(socket), Kind::STREAM),
            Err(Errno::INPROGRESS | Errno::INTR) => {
                let socket = net::UnixStream::from(socket);
                let stream = Self::register(&driver, socket, Kind::CONNECTING)?;
                stream.first_writable().await?;
                stream.get_ref().take_error()?.map_or(Ok(stream), Err)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes two that are connected with each other.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, if it has no more file descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let driver = Driver::current()?;
        let (one, other) = net::UnixStream::pair()?;
        let one = Self::register(&driver, one, Kind::STREAM)?;
        Ok((one, Self::register(&driver, other, Kind::STREAM)?))
    }

    /// Ends one direction of the connection, or both.
    ///
    /// # Errors
    /// The system's, if there is no connection any more for example.
    pub fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(which)
    }
}
