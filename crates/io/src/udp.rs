//! UDP datagrams.

use std::io;
use std::net::{self, SocketAddr};

use brigade_sync::budget;

use crate::addresses::{ToSocketAddrs, resolve};
use crate::asynchronous::Async;
use crate::driver::Driver;

/// A UDP socket.
///
/// ```
/// use brigade::io::UdpSocket;
/// brigade::block_on(async {
///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
///     let own = socket.local_addr()?;
///     socket.send_to(b"to myself", own).await?;
///     let mut buffer = [0; 16];
///     let (length, from) = socket.recv_from(&mut buffer).await?;
///     assert_eq!((&buffer[..length], from), (&b"to myself"[..], own));
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
///
/// In synchronous code, [`new`](Async::new) takes a socket of the standard library.
pub type UdpSocket = Async<net::UdpSocket>;

impl Async<net::UdpSocket> {
    /// Binds a socket to an address; with port 0 the system chooses the port.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver); the system's error for the last address, for example if it is in use; the error of
    /// the look-up of a name.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// let socket = brigade::block_on(UdpSocket::bind("localhost:0"))?;
    /// assert!(socket.local_addr()?.ip().is_loopback());
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        budget::begin().await;
        let driver = Driver::current()?;
        let addresses = resolve(&driver, &address)?;
        addresses.try_each(|address| Self::with_driver(&driver, net::UdpSocket::bind(address)?))
    }

    /// Sets the peer of [`send`](Self::send) and [`recv`](Self::recv): the first address accepted by the system.
    ///
    /// # Errors
    /// The system's error for the last address; the error of the look-up of a name.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// brigade::block_on(async {
    ///     let (one, other) =
    ///         (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    ///     one.connect(other.local_addr()?).await?;
    ///     one.send(b"bucket").await?;
    ///     assert_eq!(other.recv(&mut [0; 16]).await?, 6);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        budget::begin().await;
        // In the child of a fork the socket is the parent's as well.
        self.driver().check_process()?;
        let addresses = resolve(self.driver(), &address)?;
        addresses.try_each(|address| self.get_ref().connect(address))
    }

    /// Returns the address of the socket.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// let socket = brigade::block_on(UdpSocket::bind("127.0.0.1:0"))?;
    /// assert_ne!(socket.local_addr()?.port(), 0, "the system has chosen one");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// Returns the peer set by [`connect`](Self::connect).
    ///
    /// # Errors
    /// The system's: [`NotConnected`](io::ErrorKind::NotConnected) if there is none.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// brigade::block_on(async {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     assert!(socket.peer_addr().is_err());
    ///     socket.connect("127.0.0.1:9").await?;
    ///     assert_eq!(socket.peer_addr()?.port(), 9);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Sends a datagram to an address, or to the first of several; returns the length.
    ///
    /// # Errors
    /// The system's: for example if the datagram is too long; the error of the look-up of a name.
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing has been sent.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// brigade::block_on(async {
    ///     let (one, other) =
    ///         (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    ///     let to = ("127.0.0.1", other.local_addr()?.port());
    ///     assert_eq!(one.send_to(b"bucket", to).await?, 6);
    ///     assert_eq!(other.recv_from(&mut [0; 16]).await?, (6, one.local_addr()?));
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn send_to(&self, bytes: &[u8], to: impl ToSocketAddrs) -> io::Result<usize> {
        budget::begin().await;
        let to = resolve(self.driver(), &to)?.first()?;
        self.write_with(|socket| socket.send_to(bytes, to)).await
    }

    /// Waits for a datagram; returns the length and the sender. Bytes beyond the buffer are lost.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Cancel safety
    /// If the future is dropped, no datagram is lost.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to the peer set by [`connect`](Self::connect); returns the length.
    ///
    /// # Errors
    /// The system's: for example if there is no peer, or if an earlier datagram was
    /// [refused](io::ErrorKind::ConnectionRefused).
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing has been sent.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write_with(|socket| socket.send(bytes)).await
    }

    /// Waits for a datagram of the peer set by [`connect`](Self::connect); returns the length. Bytes beyond the buffer are
    /// lost.
    ///
    /// # Errors
    /// Those of [`send`](Self::send).
    ///
    /// # Cancel safety
    /// If the future is dropped, no datagram is lost.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|socket| socket.recv(buffer)).await
    }
}
