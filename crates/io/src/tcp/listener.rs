//! Accepting TCP connections.

use std::io;
use std::net::{self, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use rustix::net::AddressFamily;

use crate::addresses::{ToSocketAddrs, resolve};
use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::kind::Kind;
use crate::socket::{self, socket};
use crate::tcp::TcpStream;

/// A socket that accepts TCP connections.
///
/// ```
/// use brigade::io::{TcpListener, TcpStream};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
///
/// let answer = brigade::block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let mut client = TcpStream::connect(listener.local_addr()?).await?;
///     let (mut server, _) = listener.accept().await?;
///     server.write_all(b"welcome").await?;
///     server.close().await?;
///     let mut answer = String::new();
///     client.read_to_string(&mut answer).await?;
///     std::io::Result::Ok(answer)
/// })?;
/// assert_eq!(answer, "welcome");
/// # std::io::Result::Ok(())
/// ```
///
/// In code that is not async, [`new`](Async::new) takes a listener of the standard library. Any other option of a socket
/// can be set before, or by [`get_ref`](Async::get_ref):
///
/// ```
/// use brigade::io::TcpListener;
///
/// let pool = brigade::Pool::new(1);
/// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let listener = pool.handle().enter(|| TcpListener::new(listener))?;
/// assert!(listener.local_addr()?.port() > 0);
/// # std::io::Result::Ok(())
/// ```
pub type TcpListener = Async<net::TcpListener>;

impl Async<net::TcpListener> {
    /// Listens at an address; with port 0 the system chooses the port.
    ///
    /// As with [`std::net::TcpListener::bind`], 128 connections may wait to be accepted on most systems, and on Unix the
    /// address may be that of a listener whose last connections are still being closed.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver); that of the system for the last address, for example that it is in use; that of the
    /// look-up of a name.
    ///
    /// ```
    /// use brigade::io::TcpListener;
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("localhost:0").await?;
    ///     let error = TcpListener::bind(listener.local_addr()?).await.unwrap_err();
    ///     assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let driver = Driver::current()?;
        let addresses = resolve(&driver, &address)?;
        addresses.try_each(|address| Self::with_driver(&driver, net::TcpListener::bind(address)?))
    }

    /// Listens at an address as [`bind`](Self::bind) does, with a backlog: how many connections may wait to be accepted.
    ///
    /// The system may round the number and limits it, on Linux to `net.core.somaxconn`. On Linux one connection more than
    /// `backlog` may wait. A client beyond that tries again, and times out in the end.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    ///
    /// ```
    /// use brigade::io::TcpListener;
    /// let listener = brigade::block_on(TcpListener::bind_with_backlog("127.0.0.1:0", 1024))?;
    /// assert!(listener.local_addr()?.port() > 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn bind_with_backlog(address: impl ToSocketAddrs, backlog: u32) -> io::Result<Self> {
        let driver = Driver::current()?;
        let addresses = resolve(&driver, &address)?;
        addresses.try_each(|address| Self::with_driver(&driver, listen(address, backlog)?))
    }

    /// Waits for a connection; it belongs to the listener's pool.
    ///
    /// # Errors
    /// The system's: for example that it has no more file descriptors, or that the other side is gone already. The next
    /// call may succeed.
    ///
    /// # Cancel safety
    /// If the future is dropped, no connection is lost.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let client = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (server, from) = listener.accept().await?;
    ///     assert_eq!((client.local_addr()?, server.peer_addr()?), (from, from));
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        socket::accept(self, Kind::STREAM, net::TcpListener::accept).await
    }

    /// Returns a stream of connections, which does not end.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// use futures_lite::StreamExt;
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let client = TcpStream::connect(listener.local_addr()?).await?;
    ///     let server = listener.incoming().next().await.transpose()?;
    ///     assert_eq!(server.map(|server| server.peer_addr()).transpose()?, Some(client.local_addr()?));
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn incoming(&self) -> TcpIncoming<'_> {
        TcpIncoming(self)
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::TcpListener;
    /// let listener = brigade::block_on(TcpListener::bind("127.0.0.1:0"))?;
    /// assert_ne!(listener.local_addr()?.port(), 0, "the system has chosen one");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// Returns the time to live of the packets of its connections; [`set_ttl`](Self::set_ttl) has an example.
    ///
    /// # Errors
    /// The system's.
    pub fn ttl(&self) -> io::Result<u32> {
        self.get_ref().ttl()
    }

    /// Sets the time to live of the packets of its connections: how many routers may pass them on.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::TcpListener;
    /// let listener = brigade::block_on(TcpListener::bind("127.0.0.1:0"))?;
    /// listener.set_ttl(42)?;
    /// assert_eq!(listener.ttl()?, 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.get_ref().set_ttl(ttl)
    }
}

/// A listener as `std` makes it, with this backlog.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<net::TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family)?;
    // On Windows it would share the address with every other listener.
    #[cfg(not(windows))]
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
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
