//! brigade: a pool that polls futures, with its own pipes and streams.

use std::future::Future;
use std::io;
use std::net;
use std::os::fd::OwnedFd;
use std::pin::Pin;
#[cfg(feature = "full")]
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use brigade::io::{Async, PipeReader, PipeWriter, TcpStream};
use brigade::time::Timer;
use brigade::{Builder, Handle, JoinHandle, Pool};
#[cfg(feature = "full")]
use futures_rustls::TlsAcceptor;
#[cfg(feature = "full")]
use futures_rustls::server::TlsStream;
#[cfg(feature = "full")]
use rustls::ServerConfig;
use smol::io::{AsyncReadExt, AsyncWriteExt};
#[cfg(feature = "full")]
use smol_hyper::rt::FuturesIo;

use crate::target::runtime::{Alarm, Runtime, Spawn, ends};

/// Starts this pool.
pub(super) fn start(builder: Builder) -> io::Result<Brigade> {
    builder.build().map(Brigade)
}

/// A pool.
pub(crate) struct Brigade(Pool);

/// A task whose panic continues in the task that awaits it.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let end = Pin::new(&mut self.0).poll(context);
        end.map(|end| end.expect("a task that neither panics nor is cancelled"))
    }
}

impl Runtime for Brigade {
    type Spawner = Handle;
    type Task<T: Send + 'static> = Task<T>;
    type Reader = PipeReader;
    type Writer = PipeWriter;
    type Stream = TcpStream;
    #[cfg(feature = "full")]
    type Http = TcpStream;
    #[cfg(feature = "full")]
    type Secure = FuturesIo<TlsStream<TcpStream>>;
    type Alarm = Timer;

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.handle().enter(|| brigade::block_on(future))
    }

    #[inline]
    fn spawn<F>(&self, future: F) -> io::Result<Task<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Ok(Task(self.0.spawn(future)))
    }

    fn spawner(&self) -> Handle {
        self.0.handle()
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
        brigade::time::sleep(time)
    }

    #[inline]
    fn execute_at<F>(&self, time: Instant, job: F) -> io::Result<Timer>
    where
        F: FnOnce() + Send + 'static,
    {
        self.0.job().at(time).execute(job).map_err(io::Error::other)
    }

    fn reader(end: OwnedFd) -> io::Result<PipeReader> {
        PipeReader::from_fd(end)
    }

    fn writer(end: OwnedFd) -> io::Result<PipeWriter> {
        PipeWriter::from_fd(end)
    }

    fn stream(stream: net::TcpStream) -> io::Result<TcpStream> {
        Async::new(stream)
    }

    #[cfg(feature = "full")]
    fn http(stream: Self::Stream) -> Self::Http {
        stream
    }

    #[cfg(feature = "full")]
    async fn secure(stream: Self::Stream, config: Arc<ServerConfig>) -> io::Result<Self::Secure> {
        TlsAcceptor::from(config).accept(stream).await.map(FuturesIo::new)
    }

    // Joins the threads, and drops the tasks that wait forever.
}

impl Spawn for Handle {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        // A pool that rejects the task has lost it, which is what the tally reports.
        drop(self.spawn(future));
        Ok(())
    }
}

impl Alarm for Timer {
    fn detach(self) {
        // It runs without its handle.
        drop(self);
    }

    #[inline]
    fn cancel(self) {
        // A closure that has begun is counted as one that ran.
        let _ = Timer::cancel(&self);
    }
}

ends!(PipeReader, PipeWriter, TcpStream);
