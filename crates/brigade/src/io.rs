//! Asynchronous I/O resources: pipes, TCP, UDP, Unix sockets, and anything else that has a file descriptor.
//!
//! A resource belongs to the pool that the thread has [entered](crate::Handle::enter), on a worker else to the worker's pool.
//! Inside of [`block_on`](crate::block_on) on other threads it belongs to the [default pool](crate::default_pool). On any
//! other thread it can't be made: [`NoDriver::None`].
//!
//! The pool's workers wait for events where they would sleep anyway: there is no thread for I/O. The first resource makes the
//! pool's driver, which costs two file descriptors, and from then on an elastic pool keeps a worker.
//!
//! Resources implement the traits of `futures-io`, and with the feature `hyper` those of hyper. [`Async`] wraps any other
//! value with a file descriptor.
//!
//! They may be used from tasks of any pool and of any other executor. When their pool has ended, an operation that would have
//! to wait fails with [`NoDriver::Closed`].
//!
//! ```
//! use brigade::io::{TcpListener, TcpStream};
//! use futures_lite::{AsyncReadExt, AsyncWriteExt};
//!
//! let pool = brigade::Pool::new(2);
//! let answer = pool.spawn(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = brigade::spawn(async move {
//!         let (mut stream, _) = listener.accept().await?;
//!         stream.write_all(b"42").await
//!     })?;
//!     let mut answer = String::new();
//!     TcpStream::connect(address).await?.read_to_string(&mut answer).await?;
//!     server.await.unwrap()?;
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(answer)
//! });
//! assert_eq!(answer.join()?.unwrap(), "42");
//! # Ok::<(), brigade::JoinError>(())
//! ```

use std::sync::OnceLock;

pub use brigade_io::{
    Async, Driver, NoDriver, Pollable, ReadHalf, Ready, ReuniteError, TcpIncoming, TcpListener,
    TcpStream, ToSocketAddrs, UdpSocket, WriteHalf,
};
#[cfg(unix)]
pub use brigade_io::{PipeReader, PipeWriter, UnixIncoming, UnixListener, UnixStream, pipe};

use brigade_io::DriverSupply;
use brigade_sync::fork::PerProcess;

use crate::default_pool::default_pool;
use crate::engine::closed;
use crate::registry::reach;

/// Calls a closure; I/O resources that are made meanwhile belong to the default pool, unless the thread has entered another.
pub(crate) fn enter_default<R>(call: impl FnOnce() -> R) -> R {
    /// Not one for all processes: a child that was forked while another thread made it would wait for that for ever.
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
