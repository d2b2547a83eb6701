//! TCP connections.

use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use rustix::io::Errno;
use rustix::net::AddressFamily;

use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::kind::Kind;
use crate::socket::{self, socket};

/// A TCP connection.
pub type TcpStream = Async<net::TcpStream>;

/// A socket that accepts TCP connections.
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
    /// Listens at an address; with port 0 the system chooses the port.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, for example if the address is in use.
    pub fn bind(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::TcpListener::bind(address.into())?)
    }

    /// Waits for a connection and registers it with the listener's driver.
    ///
    /// # Errors
    /// The system's: for example that it has no more file descriptors, or that the other side is gone already. The next
    /// call may succeed.
    ///
    /// # Cancel safety
    /// If the future is dropped, no connection is lost.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        socket::accept(self, Kind::STREAM, net::TcpListener::accept).await
    }

    /// Returns a stream of connections, which does not end.
    pub fn incoming(&self) -> TcpIncoming<'_> {
        TcpIncoming(self)
    }
}

/// The connections of a [`TcpListener`], made by its method `incoming`.
#[derive(Debug)]
pub struct TcpIncoming<'a>(&'a TcpListener);

impl Stream for TcpIncoming<'_> {
    type Item = io::Result<TcpStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        socket::poll_accept(self.0, Kind::STREAM, context, net::TcpListener::accept).map(Some)
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
    /// Dropping the future closes the socket.
    pub async fn connect(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let driver = Driver::current()?;
        let address = address.into();
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family)?;
        begin(rustix::net::connect(&socket, &address))?;
        let stream =
            Self::register(&driver, net::TcpStream::from(socket), Kind::STREAM.connecting())?;
        stream.source().first_writable().await?;
        loop {
            if let Some(error) = stream.get_ref().take_error()? {
                return Err(error);
            }
            match stream.get_ref().peer_addr() {
                Ok(_) => return Ok(stream),
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
                Err(error) => return Err(error),
            }
            stream.source().writable_again().await?;
        }
    }

    /// Shuts down one direction of the connection, or both.
    ///
    /// # Errors
    /// The system's, for example if there is no connection any more.
    pub fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(which)
    }
}

/// Whether a connection is made or being made. A signal does not end the attempt.
fn begin(outcome: Result<(), Errno>) -> io::Result<()> {
    match outcome {
        Ok(()) | Err(Errno::INPROGRESS | Errno::WOULDBLOCK | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
