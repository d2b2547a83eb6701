//! brigade: a pool that polls futures, with its own pipes and streams.

use std::future::Future;
use std::io;
use std::net;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use brigade::io::{Async, PipeReader, PipeWriter, TcpStream};
use brigade::{JoinHandle, Pool};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::{Runtime, Sink, Source};

/// A pool of as many threads as it is told to have, but no more than `MOST`.
pub(crate) struct AtMost<const MOST: usize>(Pool);

/// The default pool.
pub(crate) type Brigade = AtMost<{ usize::MAX }>;
/// The default pool with one thread.
pub(crate) type BrigadeOneThread = AtMost<1>;

/// A task whose panic goes on in who awaits it.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let end = Pin::new(&mut self.0).poll(context);
        end.map(|end| end.expect("a task that neither panics nor is cancelled"))
    }
}

impl<const MOST: usize> Runtime for AtMost<MOST> {
    type Task<T: Send + 'static> = Task<T>;
    type Reader = PipeReader;
    type Writer = PipeWriter;
    type Stream = TcpStream;
    type Receiver = mpsc::Receiver<u8>;
    type Sender = mpsc::Sender<u8>;

    fn start(threads: usize) -> io::Result<Self> {
        Pool::builder().threads(threads.min(MOST)).build().map(AtMost)
    }

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

    fn detach<F>(&self, future: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(self.0.spawn(future));
        Ok(())
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

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::channel(capacity)
    }

    fn shutdown(self) {
        // Joins the threads, and drops what waits for ever.
        drop(self.0);
    }
}

impl Source for PipeReader {
    #[inline]
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact(buffer).await
    }
}

impl Sink for PipeWriter {
    #[inline]
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }
}

impl Source for TcpStream {
    #[inline]
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact(buffer).await
    }
}

impl Sink for TcpStream {
    #[inline]
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }
}
