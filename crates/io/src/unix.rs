//! Unix-domain sockets.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

use brigade_sync::budget;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};

use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::kind::Kind;
use crate::socket::{self, socket};
use crate::split::{ReadHalf, WriteHalf, split};
use crate::stream::shut_down_writing;

/// A connection of Unix-domain sockets.
///
/// ```
/// use brigade::io::UnixStream;
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// brigade::block_on(async {
///     let (mut near, mut far) = UnixStream::pair()?;
///     near.write_all(b"hello").await?;
///     let mut received = [0; 5];
///     far.read_exact(&mut received).await?;
///     assert_eq!(&received, b"hello");
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub type UnixStream = Async<net::UnixStream>;

/// A Unix-domain socket that accepts connections.
///
/// ```
/// use brigade::io::{UnixListener, UnixStream};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// let path = std::env::temp_dir().join(format!("brigade-listener-{}", std::process::id()));
/// brigade::block_on(async {
///     let listener = UnixListener::bind(&path)?;
///     let mut client = UnixStream::connect(&path).await?;
///     client.write_all(b"hello").await?;
///     client.close().await?;
///     let mut received = String::new();
///     listener.accept().await?.0.read_to_string(&mut received).await?;
///     assert_eq!(received, "hello");
///     std::fs::remove_file(&path)
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub type UnixListener = Async<net::UnixListener>;

impl Async<net::UnixListener> {
    /// Listens at a path, which must not exist and is not removed when the listener is dropped.
    ///
    /// Not an `async fn`: no name must be looked up.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, for example if the path exists.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let driver = Driver::current()?;
        Self::with_driver(&driver, net::UnixListener::bind(path)?)
    }

    /// Waits for a connection; it belongs to the listener's pool.
    ///
    /// # Errors
    /// The system's: for example if it has no more file descriptors. The next call may succeed.
    ///
    /// # Cancel safety
    /// If the future is dropped, no connection is lost.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        socket::accept(self, Kind::MESSAGES, net::UnixListener::accept).await
    }

    /// Returns the address at which it listens: a path, or on Linux an abstract name.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::UnixListener;
    /// let path = std::env::temp_dir().join(format!("brigade-address-{}", std::process::id()));
    /// let listener = brigade::block_on(async { UnixListener::bind(&path) })?;
    /// assert_eq!(listener.local_addr()?.as_pathname(), Some(&*path));
    /// std::fs::remove_file(&path)?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }
}

impl Async<net::UnixStream> {
    /// Connects to a path.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's: [`NotFound`](io::ErrorKind::NotFound),
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused). On Linux it is
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the listener's queue is full: the kernel reports no event when
    /// there is room.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        budget::begin().await;
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

    /// Creates a pair of connected sockets.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver), or the system's, if it has no more file descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let driver = Driver::current()?;
        let (one, other) = net::UnixStream::pair()?;
        let one = Self::register(&driver, one, Kind::MESSAGES)?;
        Ok((one, Self::register(&driver, other, Kind::MESSAGES)?))
    }

    /// Returns the address of this end, which has no name if it connected.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::UnixStream;
    /// let (near, _far) = brigade::block_on(async { UnixStream::pair() })?;
    /// assert!(near.local_addr()?.is_unnamed());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// Returns the address of the other end: the path of a listener.
    ///
    /// # Errors
    /// The system's.
    ///
    /// ```
    /// use brigade::io::UnixStream;
    /// let (near, _far) = brigade::block_on(async { UnixStream::pair() })?;
    /// assert!(near.peer_addr()?.is_unnamed());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Shuts down a direction of the connection, or both.
    ///
    /// # Errors
    /// The system's, for example if there is no connection any more.
    pub fn shutdown(&self, which: Shutdown) -> io::Result<()> {
        self.get_ref().shutdown(which)
    }

    /// Splits the connection into a reading half and a writing half, for two tasks.
    ///
    /// Dropping the [`WriteHalf`] ends the stream of sent bytes, as closing it does. The connection ends with the later
    /// of the two. Within a single task no halves are needed: `&UnixStream` reads and writes.
    ///
    /// ```
    /// use brigade::io::UnixStream;
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt};
    /// brigade::block_on(async {
    ///     let (near, mut far) = UnixStream::pair()?;
    ///     let (_reader, mut writer) = near.split();
    ///     writer.write_all(b"bucket").await?;
    ///     drop(writer);
    ///     let mut received = String::new();
    ///     far.read_to_string(&mut received).await?; // up to the end
    ///     assert_eq!(received, "bucket");
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "into_split")]
    pub fn split(self) -> (ReadHalf<Self>, WriteHalf<Self>) {
        split(self, shut_down_writing)
    }
}
