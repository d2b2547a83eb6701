//! Connections by TCP.

use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

use crate::asynchronous::Kind;
use crate::attempt::Left;
use crate::waiting::Direction;
use crate::{Async, Driver};

/// A connection.
pub type TcpStream = Async<net::TcpStream>;

/// Where connections arrive.
///
/// ```
/// use brigade_io::{Driver, TcpListener, TcpStream};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
///
/// let driver = Driver::new()?;
/// let listener = driver.enter(|| TcpListener::bind(([127, 0, 0, 1], 0)))?;
/// let address = listener.get_ref().local_addr()?;
/// std::thread::spawn({
///     let driver = driver.clone();
///     move || while driver.drive(None, &mut |waker| waker.wake()).is_ok() {}
/// });
/// let answer = driver.enter(|| {
///     future::block_on(async {
///         let (client, server) = future::zip(TcpStream::connect(address), listener.accept()).await;
///         let (mut client, (mut server, _)) = (client?, server?);
///         server.write_all(b"welcome").await?;
///         server.close().await?;
///         let mut answer = String::new();
///         client.read_to_string(&mut answer).await?;
///         std::io::Result::Ok(answer)
///     })
/// })?;
/// assert_eq!(answer, "welcome");
/// # std::io::Result::Ok(())
/// ```
pub type TcpListener = Async<net::TcpListener>;

impl Async<net::TcpListener> {
    /// Listens at an address; port 0 lets the system choose one.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, if the address is taken for example.
    pub fn bind(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::TcpListener::bind(address.into())?)
    }

    /// Waits for a connection and registers it with the listener's driver.
    ///
    /// # Errors
    /// The system's: that it has no more file descriptors, or that the other side has gone already. The next call may
    /// succeed.
    ///
    /// # Cancel safety
    /// No connection is lost if the future is dropped.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, from) = self.read_with(net::TcpListener::accept).await?;
        Ok((Async::register(self.driver(), stream, Kind::STREAM)?, from))
    }

    /// The connections, one after the other, without end.
    pub fn incoming(&self) -> TcpIncoming<'_> {
        TcpIncoming(self)
    }
}

/// The connections that arrive at a [`TcpListener`].
#[derive(Debug)]
pub struct TcpIncoming<'a>(&'a TcpListener);

impl Stream for TcpIncoming<'_> {
    type Item = io::Result<TcpStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let listener = self.0;
        let accept = net::TcpListener::accept;
        listener.poll_attempt(Direction::Read, context, accept, |_| Left::Unknown).map(|accepted| {
            Some(
                accepted.and_then(|(stream, _)| {
                    Async::register(listener.driver(), stream, Kind::STREAM)
                }),
            )
        })
    }
}

impl Async<net::TcpStream> {
    /// Connects to an address.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, like
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused).
    ///
    /// # Cancel safety
    /// Dropping the future gives the connection up.
    pub async fn connect(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let driver = Driver::current()?;
        let address = address.into();
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family)?;
        begin(rustix::net::connect(&socket, &address))?;
        let stream = Self::register(&driver, net::TcpStream::from(socket), Kind::CONNECTING)?;
        stream.first_writable().await?;
        loop {
            if let Some(error) = stream.get_ref().take_error()? {
                return Err(error);
            }
            match stream.get_ref().peer_addr() {
                Ok(_) => return Ok(stream),
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                Err(error) => return Err(error),
            }
            stream.writable_again().await?;
        }
    }

    /// Ends one direction of the connection, or both.
    ///
    /// # Errors
    /// The system's, if there is no connection any more for example.
    pub fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(which)
    }
}

/// Makes a non-blocking socket that no other program inherits.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(crate) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    use rustix::net::SocketFlags;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Makes a non-blocking socket that no other program inherits.
#[cfg(any(windows, target_vendor = "apple"))]
pub(crate) fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    #[cfg(target_vendor = "apple")]
    {
        rustix::io::ioctl_fioclex(&socket)?;
        rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    }
    Ok(socket)
}

/// Whether a connection is made, or being made. A signal does not end the attempt.
fn begin(outcome: Result<(), Errno>) -> io::Result<()> {
    match outcome {
        Ok(()) | Err(Errno::INPROGRESS | Errno::WOULDBLOCK | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
