//! Datagrams by UDP.

use std::io;
use std::net::{self, SocketAddr};

use crate::{Async, Driver};

/// A socket for datagrams.
///
/// ```
/// use brigade_io::{Driver, UdpSocket};
/// use futures_lite::future;
/// let driver = Driver::new()?;
/// let socket = driver.enter(|| UdpSocket::bind(([127, 0, 0, 1], 0)))?;
/// let own = socket.get_ref().local_addr()?;
/// let mut buffer = [0; 16];
/// let (length, from) = future::block_on(async {
///     socket.send_to(b"to myself", own).await?;
///     socket.recv_from(&mut buffer).await
/// })?;
/// assert_eq!((&buffer[..length], from), (&b"to myself"[..], own));
/// # std::io::Result::Ok(())
/// ```
pub type UdpSocket = Async<net::UdpSocket>;

impl Async<net::UdpSocket> {
    /// Makes a socket at an address; port 0 lets the system choose one.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, if the address is taken for example.
    pub fn bind(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::UdpSocket::bind(address.into())?)
    }

    /// Names the one with whom [`send`](Self::send) and [`recv`](Self::recv) deal.
    ///
    /// # Errors
    /// The system's.
    pub fn connect(&self, address: impl Into<SocketAddr>) -> io::Result<()> {
        self.get_ref().connect(address.into())
    }

    /// Sends a datagram; returns its length.
    ///
    /// # Errors
    /// The system's: that the datagram is too long for example.
    ///
    /// # Cancel safety
    /// Nothing has been sent if the future is dropped.
    pub async fn send_to(&self, bytes: &[u8], to: impl Into<SocketAddr>) -> io::Result<usize> {
        let to = to.into();
        self.write_with(|socket| socket.send_to(bytes, to)).await
    }

    /// Waits for a datagram; returns its length and sender. What does not fit is lost.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Cancel safety
    /// No datagram is lost if the future is dropped.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to whom [`connect`](Self::connect) named; returns its length.
    ///
    /// # Errors
    /// The system's: that nobody was named, or that an earlier datagram was
    /// [refused](io::ErrorKind::ConnectionRefused).
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write_with(|socket| socket.send(bytes)).await
    }

    /// Waits for a datagram from whom [`connect`](Self::connect) named; returns its length. What does not fit is lost.
    ///
    /// # Errors
    /// Those of [`send`](Self::send).
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|socket| socket.recv(buffer)).await
    }
}
