//! Accepting TCP connections.

use std::io;
use std::net::{self, SocketAddr};

use brigade_sync::budget;

use crate::addresses::{ToSocketAddrs, resolve};
use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::kind::Kind;
use crate::socket;
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
/// In synchronous code, [`new`](Async::new) takes a listener of the standard library. Any other option of a socket
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
    /// address may belong to a listener whose last connections are still being closed.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver); the system's error for the last address, for example if it is in use; the error of
    /// the look-up of a name.
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
        budget::begin().await;
        let driver = Driver::current()?;
        let addresses = resolve(&driver, &address)?;
        addresses.try_each(|address| Self::with_driver(&driver, net::TcpListener::bind(address)?))
    }

    /// Waits for a connection; it belongs to the listener's pool.
    ///
    /// # Errors
    /// The system's: for example if it has no more file descriptors, or if the other side is gone already. The next
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
        let accept = |listener: &net::TcpListener| {
            let (stream, address) = listener.accept()?;
            Ok((socket::not_inherited(stream.into())?.into(), address))
        };
        socket::accept(self, Kind::STREAM, accept).await
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
}
