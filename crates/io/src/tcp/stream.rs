//! TCP connections.

use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::sync::Arc;

use brigade_sync::budget;
use rustix::io::Errno;
use rustix::net::AddressFamily;

use crate::addresses::{ToSocketAddrs, resolve};
use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::error::no_address;
use crate::kind::Kind;
use crate::socket::socket;
use crate::split::{ReadHalf, WriteHalf, split};
use crate::stream::shut_down_writing;

/// A TCP connection.
///
/// It is read and written by `AsyncRead` and `AsyncWrite`, which `&TcpStream` implements as well. Closing it, or
/// [`shutdown`](Async::shutdown), ends the stream of sent bytes; dropping it ends the connection.
///
/// ```
/// use brigade::io::{TcpListener, TcpStream};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
///
/// brigade::block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let mut client = TcpStream::connect(listener.local_addr()?).await?;
///     client.set_nodelay(true)?;
///     client.write_all(b"question").await?;
///     client.close().await?;
///     let mut question = String::new();
///     listener.accept().await?.0.read_to_string(&mut question).await?;
///     assert_eq!(question, "question");
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
///
/// A loop of reads yields in a pool of brigade after 64 reads without a wait. So a fast peer does not keep the thread
/// from other connections and timers.
///
/// [`new`](Async::new) takes a connection of the standard library, and [`into_inner`](Async::into_inner) returns it.
///
/// A read by `AsyncRead` that does not fill the buffer is taken as proof that no more bytes have arrived: the next read waits for
/// an event. If kernel TLS is set on the socket (`TCP_ULP`), a read also ends at a control record; use
/// [`read_with`](Async::read_with) there, which tries before it waits.
pub type TcpStream = Async<net::TcpStream>;

impl Async<net::TcpStream> {
    /// Connects to an address.
    ///
    /// Of several addresses, as found for a name, each is tried until one accepts.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver); the system's error for the last address, like
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused), or [`WouldBlock`](io::ErrorKind::WouldBlock) if it can't begin
    /// now; the error of the look-up of a name.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("localhost:0").await?;
    ///     let address = listener.local_addr()?;
    ///     let stream = TcpStream::connect(("localhost", address.port())).await?;
    ///     assert_eq!(stream.peer_addr()?, address);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        budget::begin().await;
        let driver = Driver::current()?;
        let addresses = resolve(&driver, &address)?;
        let mut outcome = Err(no_address());
        for &address in addresses.as_slice() {
            outcome = Self::connect_to(&driver, address).await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    async fn connect_to(driver: &Arc<Driver>, address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family)?;
        begin(rustix::net::connect(&socket, &address))?;
        let stream =
            Self::register(driver, net::TcpStream::from(socket), Kind::STREAM.connecting())?;
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

    /// Returns the address of this end.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert!(stream.local_addr()?.ip().is_loopback());
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    /// The system's: [`NotConnected`](io::ErrorKind::NotConnected) if there is no connection any more.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let client = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (server, _) = listener.accept().await?;
    ///     assert_eq!(client.peer_addr()?, server.local_addr()?);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Returns whether small writes are sent at once; [`set_nodelay`](Self::set_nodelay) has an example.
    ///
    /// # Errors
    /// The system's.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.get_ref().nodelay()
    }

    /// Sets whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// Otherwise the system may collect them until the other side has acknowledged earlier bytes.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert!(!stream.nodelay()?);
    ///     stream.set_nodelay(true)?;
    ///     assert!(stream.nodelay()?);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.get_ref().set_nodelay(nodelay)
    }

    /// Waits for bytes and copies them into the buffer; the next read returns them again. Returns how many there were, and
    /// zero at the end.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Cancel safety
    /// If the future is dropped, nothing is lost.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt};
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let mut client = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (mut server, _) = listener.accept().await?;
    ///     client.write_all(b"GET /").await?;
    ///     let mut method = [0; 3];
    ///     assert_eq!(server.peek(&mut method).await?, 3);
    ///     let mut request = [0; 5];
    ///     server.read_exact(&mut request).await?;
    ///     assert_eq!((&method, &request), (b"GET", b"GET /"));
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|stream| stream.peek(buffer)).await
    }

    /// Shuts down a direction of the connection, or both.
    ///
    /// # Errors
    /// The system's, for example if there is no connection any more.
    ///
    /// ```
    /// use std::net::Shutdown;
    /// use brigade::io::{TcpListener, TcpStream};
    /// use futures_lite::AsyncReadExt;
    /// brigade::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let client = TcpStream::connect(listener.local_addr()?).await?;
    ///     client.shutdown(Shutdown::Write)?;
    ///     let (mut server, _) = listener.accept().await?;
    ///     assert_eq!(server.read(&mut [0]).await?, 0, "the end");
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(which)
    }

    /// Splits the connection into a reading half and a writing half, for two tasks.
    ///
    /// Dropping the [`WriteHalf`] ends the stream of sent bytes, as closing it does. The connection ends with the later
    /// of the two. Within a single task no halves are needed: `&TcpStream` reads and writes.
    ///
    /// ```
    /// use brigade::io::{TcpListener, TcpStream};
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt, io};
    ///
    /// let pool = brigade::Pool::new(2);
    /// let echoed = pool.spawn(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let (mut reader, mut writer) = TcpStream::connect(listener.local_addr()?).await?.split();
    ///     let (server, _) = listener.accept().await?;
    ///     let send = async move { writer.write_all(b"bucket").await }; // and drops it
    ///     let echo = async { io::copy(&server, &server).await };
    ///     let (sent, echoed) = futures_lite::future::zip(send, echo).await;
    ///     sent.and(echoed)?;
    ///     drop(server);
    ///     let mut echoed = String::new();
    ///     reader.read_to_string(&mut echoed).await?;
    ///     std::io::Result::Ok(echoed)
    /// });
    /// assert_eq!(echoed.join()??, "bucket");
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "into_split")]
    pub fn split(self) -> (ReadHalf<Self>, WriteHalf<Self>) {
        split(self, shut_down_writing)
    }
}

/// Whether a connection is made or being made. A signal does not end the attempt.
fn begin(outcome: Result<(), Errno>) -> io::Result<()> {
    match outcome {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(()),
        // Elsewhere nothing has been begun, and no event would follow.
        Err(Errno::WOULDBLOCK) if cfg!(windows) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(test, unix, not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_connection_failing_at_its_start_is_an_error() {
        assert!(begin(Err(Errno::INPROGRESS)).is_ok());
        let error = begin(Err(Errno::AGAIN)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
