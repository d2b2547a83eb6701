//! A thread for each task, with reads and writes that block.

use std::fs::File;
use std::future::{self, Future};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::panic;
use std::pin::Pin;
#[cfg(feature = "full")]
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::task::{Context, Poll};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use futures_lite::future::block_on;
#[cfg(feature = "full")]
use futures_lite::io::AssertAsync;
#[cfg(feature = "full")]
use futures_rustls::TlsAcceptor;
#[cfg(feature = "full")]
use futures_rustls::server::TlsStream;
#[cfg(feature = "full")]
use rustls::ServerConfig;
#[cfg(feature = "full")]
use smol_hyper::rt::FuturesIo;

use crate::target::runtime::{Alarm, Runtime, Sink, Source, Spawn};

/// Starts threads.
pub(crate) struct Threads;

/// Starts threads from anywhere.
#[derive(Clone)]
pub(crate) struct Starter;

/// A thread that waits for a time, or for this to be cancelled.
pub(crate) struct Waiting(SyncSender<bool>);

/// A thread; awaiting it joins it, which blocks.
pub(crate) struct Joining<T>(Option<JoinHandle<T>>);

impl<T> Future for Joining<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let thread = self.0.take().expect("a future isn't polled after its end");
        Poll::Ready(thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    }
}

impl Runtime for Threads {
    type Spawner = Starter;
    type Task<T: Send + 'static> = Joining<T>;
    type Reader = File;
    type Writer = File;
    type Stream = TcpStream;
    #[cfg(feature = "full")]
    type Http = FuturesIo<AssertAsync<TcpStream>>;
    #[cfg(feature = "full")]
    type Secure = FuturesIo<TlsStream<AssertAsync<TcpStream>>>;
    type Alarm = Waiting;

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(future)
    }

    #[inline]
    fn spawn<F>(&self, future: F) -> io::Result<Joining<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Builder::new().spawn(|| block_on(future)).map(|thread| Joining(Some(thread)))
    }

    fn spawner(&self) -> Starter {
        Starter
    }

    async fn sleep(time: Duration) {
        thread::sleep(time);
    }

    fn execute_at<F>(&self, time: Instant, job: F) -> io::Result<Waiting>
    where
        F: FnOnce() + Send + 'static,
    {
        let (sender, receiver) = mpsc::sync_channel(1);
        let wait = move || {
            let left = || time.saturating_duration_since(Instant::now());
            let cancelled = match receiver.recv_timeout(left()) {
                Ok(cancelled) => cancelled,
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if !cancelled {
                thread::sleep(left());
                job();
            }
        };
        Builder::new().spawn(wait).map(|_| Waiting(sender))
    }

    fn reader(end: OwnedFd) -> io::Result<File> {
        Ok(File::from(end))
    }

    fn writer(end: OwnedFd) -> io::Result<File> {
        Ok(File::from(end))
    }

    fn stream(stream: TcpStream) -> io::Result<TcpStream> {
        Ok(stream)
    }

    #[cfg(feature = "full")]
    fn http(stream: Self::Stream) -> Self::Http {
        FuturesIo::new(AssertAsync::new(stream))
    }

    #[cfg(feature = "full")]
    async fn secure(stream: Self::Stream, config: Arc<ServerConfig>) -> io::Result<Self::Secure> {
        let accept = TlsAcceptor::from(config).accept(AssertAsync::new(stream));
        accept.await.map(FuturesIo::new)
    }
}

impl Spawn for Starter {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        Builder::new().spawn(|| block_on(future)).map(drop)
    }
}

impl Alarm for Waiting {
    fn detach(self) {
        // It sleeps until its time, or has run.
        let _ = self.0.send(false);
    }

    fn cancel(self) {
        drop(self);
    }
}

/// Lets these two read and write at once, and block.
macro_rules! blocking {
    ($($stream:ty),+) => {$(
        impl Source for $stream {
            #[inline]
            fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send {
                future::ready(self.read_exact(buffer))
            }

            #[inline]
            fn some(
                &mut self,
                buffer: &mut [u8],
            ) -> impl Future<Output = io::Result<usize>> + Send {
                future::ready(self.read(buffer))
            }
        }

        impl Sink for $stream {
            #[inline]
            fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
                future::ready(self.write_all(bytes))
            }
        }
    )+};
}

blocking!(File, TcpStream);
