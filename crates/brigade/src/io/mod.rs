//! Asynchronous I/O resources: pipes, TCP, UDP, Unix sockets, and anything else that has a file descriptor.
//!
//! A resource belongs to the [current pool](crate::Handle::current) of the thread that creates it. On a thread
//! without a current pool, it belongs to the [default pool](crate::default_pool) inside
//! [`block_on`](crate::block_on). Elsewhere, creation fails with [`NoDriver::None`].
//!
//! Idle workers wait for I/O events, so there is no separate I/O thread. The first resource creates the pool's
//! driver, which costs two file descriptors. From then on, an elastic pool keeps at least one worker.
//!
//! | for | use |
//! |---|---|
//! | TCP and UDP | [`TcpListener`], [`TcpStream`], [`UdpSocket`], with an address or a name: [`ToSocketAddrs`] |
//! | processes of the same machine | `UnixListener`, `UnixStream`, `pipe` |
//! | reading and writing in different tasks | `split`: [`ReadHalf`], [`WriteHalf`] |
//! | any other file descriptor, and sockets of the standard library | [`Async`] |
//! | files of a file system | [`fs`] |
//! | HTTP by hyper | the feature `hyper`: its traits for all sockets |
//!
//! Resources implement the traits of `futures-io`. Tasks of any pool and of any other executor may use them. The
//! workers of the resource's own pool wake these tasks: while all of these workers are in long jobs, tasks elsewhere
//! wait too. So a resource should belong to the pool that uses it. Once a resource's pool has ended, an operation
//! that would have to wait fails with [`NoDriver::Closed`].
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
//! Outside of async code, create a socket from a standard library socket inside a pool:
//!
//! ```
//! let pool = brigade::Pool::new(1);
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let listener = pool.enter(|| brigade::io::TcpListener::new(listener))?;
//! assert!(listener.local_addr()?.port() > 0);
//! # Ok::<(), std::io::Error>(())
//! ```

// This module must not know spawned futures: `block_on` knows this module.

pub mod fs;

pub use brigade_io::{
    Async, Driver, NoDriver, Pollable, ReadHalf, Ready, TcpListener, TcpStream, ToSocketAddrs,
    UdpSocket, WriteHalf,
};
#[cfg(unix)]
pub use brigade_io::{PipeReader, PipeWriter, UnixListener, UnixStream, pipe};

use brigade_io::DriverSupply;
use brigade_sync::OnceLock;
use brigade_sync::fork::PerProcess;

use crate::engine::{closed, find};
use crate::pool::default_pool;

/// Calls a closure. I/O resources that it creates belong to the default pool, unless the thread has entered a pool.
pub(crate) fn enter_default<R>(call: impl FnOnce() -> R) -> R {
    /// A supply per process: a forked child would wait forever for a supply that another thread was making at the
    /// fork.
    static SUPPLY: PerProcess<OnceLock<DriverSupply>> = PerProcess::new();
    if DriverSupply::is_entered() {
        return call();
    }
    let supply = SUPPLY.get().get_or_init(|| {
        DriverSupply::new(|| {
            let shared = find(default_pool().handle().key).map_err(|_| closed())?;
            shared.driver()
        })
    });
    supply.enter(call)
}
