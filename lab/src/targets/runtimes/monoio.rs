//! monoio: a runtime of the blocking thread, with io_uring, or epoll where the kernel has none.
//!
//! monoio's tasks and I/O stay on their thread, but the traits of this family need `Send`. So all of it is wrapped in a type that checks
//! the thread at each access, some nanoseconds. monoio has only pipes made by itself: a pipe is handed to it as a Unix stream, which
//! reads and writes with vectors of buffers, and so with system calls that work on pipes. It reads into owned buffers, and bytes are
//! copied from and to the laboratory's.

use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use monoio::buf::{IoBufMut, VecBuf};
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::task::JoinHandle;
use monoio::time::TimeDriver;
use monoio::utils::is_legacy;
use monoio::{FusionDriver, FusionRuntime, IoUringDriver, LegacyDriver, RuntimeBuilder};
use send_wrapper::SendWrapper;

use crate::target::runtime::{Runtime, Sink, Source, Spawn, Spawnable};

/// Starts the runtime on the blocking thread.
pub(super) fn start(_: usize) -> io::Result<Monoio> {
    let inner = RuntimeBuilder::<FusionDriver>::new().enable_timer().build()?;
    Ok(Monoio(Mutex::new(SendWrapper::new(inner))))
}

/// The runtime with either driver.
type Inner = FusionRuntime<TimeDriver<IoUringDriver>, TimeDriver<LegacyDriver>>;

/// The runtime, for the starting thread.
pub(crate) struct Monoio(Mutex<SendWrapper<Inner>>);

/// Spawns from inside the runtime.
#[derive(Clone)]
pub(crate) struct Spawner;

/// A stream, or the end of a pipe.
pub(crate) struct Local<S>(SendWrapper<S>);

impl Runtime for Monoio {
    type Spawner = Spawner;
    type Task<T: Send + 'static> = JoinHandle<T>;
    type Reader = Local<monoio::net::UnixStream>;
    type Writer = Local<monoio::net::UnixStream>;
    type Stream = Local<monoio::net::TcpStream>;

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).block_on(future)
    }

    #[inline]
    fn spawn<F: Spawnable>(&self, future: F) -> io::Result<JoinHandle<F::Output>> {
        Ok(monoio::spawn(future))
    }

    fn spawner(&self) -> Spawner {
        Spawner
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
        SendWrapper::new(async move { monoio::time::sleep(time).await })
    }

    fn pipe(into: OwnedFd, out: OwnedFd) -> io::Result<(Self::Writer, Self::Reader)> {
        let end = |end: OwnedFd| {
            let end = UnixStream::from(end);
            end.set_nonblocking(is_legacy())?;
            io::Result::Ok(Local(SendWrapper::new(monoio::net::UnixStream::from_std(end)?)))
        };
        Ok((end(into)?, end(out)?))
    }

    fn stream(stream: TcpStream) -> io::Result<Self::Stream> {
        stream.set_nonblocking(is_legacy())?;
        Ok(Local(SendWrapper::new(monoio::net::TcpStream::from_std(stream)?)))
    }
}

impl Spawn for Spawner {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        drop(monoio::spawn(future));
        Ok(())
    }
}

impl Source for Local<monoio::net::TcpStream> {
    #[inline]
    fn some(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send {
        SendWrapper::new(async move {
            let bytes = Vec::with_capacity(buffer.len()).slice_mut(0..buffer.len());
            let (read, bytes) = self.0.read(bytes).await;
            let read = read?;
            buffer[..read].copy_from_slice(&bytes.into_inner()[..read]);
            Ok(read)
        })
    }
}

impl Sink for Local<monoio::net::TcpStream> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
        SendWrapper::new(async move { self.0.write_all(bytes.to_vec()).await.0.map(drop) })
    }
}

impl Source for Local<monoio::net::UnixStream> {
    #[inline]
    fn some(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send {
        SendWrapper::new(async move {
            let (read, bytes) = self.0.readv(VecBuf::from(vec![vec![0; buffer.len()]])).await;
            let (read, bytes) = (read?, Vec::<Vec<u8>>::from(bytes));
            buffer[..read].copy_from_slice(&bytes[0][..read]);
            Ok(read)
        })
    }
}

impl Sink for Local<monoio::net::UnixStream> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
        SendWrapper::new(async move {
            self.0.write_vectored_all(VecBuf::from(vec![bytes.to_vec()])).await.0.map(drop)
        })
    }
}
