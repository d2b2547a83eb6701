//! UDP datagrams.

use std::io;
use std::net::{self, SocketAddr};

use crate::asynchronous::Async;
use crate::driver::Driver;

/// A UDP socket.
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
    /// Binds a socket to an address; with port 0 the system chooses the port.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, for example if the address is in use.
    pub fn bind(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::UdpSocket::bind(address.into())?)
    }

    /// Sets the peer of [`send`](Self::send) and [`recv`](Self::recv).
    ///
    /// # Errors
    /// The system's.
    pub fn connect(&self, address: impl Into<SocketAddr>) -> io::Result<()> {
        self.get_ref().connect(address.into())
    }

    /// Sends a datagram; returns its length.
    ///
    /// # Errors
    /// The system's: for example that the datagram is too long.
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing has been sent.
    pub async fn send_to(&self, bytes: &[u8], to: impl Into<SocketAddr>) -> io::Result<usize> {
        let to = to.into();
        self.write_with(|socket| socket.send_to(bytes, to)).await
    }

    /// Waits for a datagram; returns its length and sender. What does not fit into the buffer is lost.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Cancel safety
    /// If the future is dropped, no datagram is lost.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to the peer that [`connect`](Self::connect) set; returns its length.
    ///
    /// # Errors
    /// The system's: for example that there is no peer, or that an earlier datagram was
    /// [refused](io::ErrorKind::ConnectionRefused).
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write_with(|socket| socket.send(bytes)).await
    }

    /// Waits for a datagram of the peer that [`connect`](Self::connect) set; returns its length. What does not fit into the
    /// buffer is lost.
    ///
    /// # Errors
    /// Those of [`send`](Self::send).
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|socket| socket.recv(buffer)).await
    }
}
