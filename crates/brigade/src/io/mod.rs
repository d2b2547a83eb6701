//! Asynchronous I/O resources: pipes, TCP, UDP, Unix sockets, and anything else that has a file descriptor.
//!
//! A resource belongs to the [current pool](crate::Handle::current) of the thread that makes it. Without one, it belongs to the
//! [default pool](crate::default_pool) inside [`block_on`](crate::block_on). On any other thread it can't be made, and the
//! error is [`NoDriver::None`].
//!
//! The pool's workers wait for events instead of sleeping, so there is no thread for I/O. The first resource creates the pool's
//! driver, which costs two file descriptors. From then on, an elastic pool keeps at least one worker.
//!
//! | for | use |
//! |---|---|
//! | TCP and UDP | [`TcpListener`], [`TcpStream`], [`UdpSocket`], with an address or a name: [`ToSocketAddrs`] |
//! | processes of one machine | `UnixListener`, `UnixStream`, `pipe` |
//! | reading in one task and writing in another | `split`: [`ReadHalf`], [`WriteHalf`] |
//! | any other file descriptor, and sockets of the standard library | [`Async`] |
//! | files of a file system | [`fs`] |
//! | HTTP by hyper | the feature `hyper`: its traits for all sockets, and by `Hyper` for anything else |
//!
//! Resources implement the traits of `futures-io`. They may be used from tasks of any pool and of any other executor, which the
//! workers of the resource's own pool wake: while all of these are in long jobs, tasks elsewhere wait too. So a resource that
//! another pool uses should belong to that pool. Once their pool has ended, an operation that would have to wait fails with [`NoDriver::Closed`].
//!
//! ```
//! use brigade::io::{TcpListener, TcpStream};
//! use futures_lite::{AsyncReadExt, AsyncWriteExt};
//!
//! let pool = brigade::Pool::new(2);
//! let answer = pool.block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = brigade::spawn(async move {
//!         let (mut stream, _) = listener.accept().await?;
//!         stream.write_all(b"42").await
//!     });
//!     let mut answer = String::new();
//!     TcpStream::connect(address).await?.read_to_string(&mut answer).await?;
//!     server.await??;
//!     std::io::Result::Ok(answer)
//! })?;
//! assert_eq!(answer, "42");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Where nothing can be awaited, a socket of the standard library is made asynchronous inside a pool:
//!
//! ```
//! let pool = brigade::Pool::new(1);
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let listener = pool.enter(|| brigade::io::TcpListener::new(listener))?;
//! assert!(listener.local_addr()?.port() > 0);
//! # Ok::<(), std::io::Error>(())
//! ```

// It must not know futures that are spawned: `block_on` knows this module.

pub mod fs;

/// # Examples
/// A request over a connection that hyper does not know:
/// ```
/// use brigade::io::{Hyper, UnixStream};
/// use futures_lite::io::BufReader;
/// use hyper::{Request, Response, body::Incoming, client, server, service::service_fn};
///
/// async fn answer(_: Request<Incoming>) -> hyper::Result<Response<String>> {
///     Ok(Response::new(String::from("bucket")))
/// }
///
/// let pool = brigade::Pool::new(1);
/// let status = pool.spawn(async {
///     let (near, far) = UnixStream::pair()?;
///     let far = Hyper::new(BufReader::new(far));
///     let serving = server::conn::http1::Builder::new().serve_connection(far, service_fn(answer));
///     drop(brigade::spawn(serving));
///
///     let near = Hyper::new(BufReader::new(near));
///     let (mut client, connection) = client::conn::http1::handshake(near).await?;
///     drop(brigade::spawn(connection));
///     let response = client.send_request(Request::new(String::new())).await?;
///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(response.status())
/// });
/// assert_eq!(status.join()??, 200);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[cfg(feature = "hyper")]
pub use brigade_io::Hyper;
pub use brigade_io::{
    Async, Driver, NoDriver, Pollable, ReadHalf, Ready, ReuniteError, TcpIncoming, TcpListener,
    TcpStream, ToSocketAddrs, UdpSocket, WriteHalf,
};
#[cfg(unix)]
pub use brigade_io::{PipeReader, PipeWriter, UnixIncoming, UnixListener, UnixStream, pipe};

use brigade_io::DriverSupply;
use brigade_sync::OnceLock;
use brigade_sync::fork::PerProcess;

use crate::engine::{closed, reach};
use crate::pool::default_pool;

/// Calls a closure; I/O resources that it makes belong to the default pool, unless the thread has entered another.
pub(crate) fn enter_default<R>(call: impl FnOnce() -> R) -> R {
    /// One for each process: a child that is forked while another thread makes it would wait for it forever.
    static SUPPLY: PerProcess<OnceLock<DriverSupply>> = PerProcess::new();
    if DriverSupply::is_entered() {
        return call();
    }
    let supply = SUPPLY.get().get_or_init(|| {
        DriverSupply::new(|| {
            reach(default_pool().handle().key, |at| match at.core() {
                Some(core) => core.driver(),
                None => Err(closed()),
            })
        })
    });
    supply.enter(call)
}
