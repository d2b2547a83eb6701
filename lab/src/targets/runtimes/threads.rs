//! A thread for each task, with reads and writes that block and the channel of std.

use std::fs::File;
use std::future::{self, Future};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::panic;
use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::task::{Context, Poll};
use std::thread::{Builder, JoinHandle};

use futures_lite::future::block_on;

use super::{Downstream, Runtime, Sink, Source, Upstream};

/// Starts threads.
pub(crate) struct Threads;

/// A thread; to await it is to join it, which blocks.
pub(crate) struct Joining<T>(Option<JoinHandle<T>>);

impl<T> Future for Joining<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let thread = self.0.take().expect("a future isn't polled after its end");
        Poll::Ready(thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    }
}

impl Runtime for Threads {
    type Task<T: Send + 'static> = Joining<T>;
    type Reader = File;
    type Writer = File;
    type Stream = TcpStream;
    type Receiver = Receiver<u8>;
    type Sender = SyncSender<u8>;

    fn start(_threads: usize) -> io::Result<Self> {
        Ok(Threads)
    }

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

    fn detach<F>(&self, future: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Builder::new().spawn(|| block_on(future)).map(drop)
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

    fn channel(capacity: usize) -> (SyncSender<u8>, Receiver<u8>) {
        mpsc::sync_channel(capacity)
    }

    fn shutdown(self) {}
}

impl Source for File {
    #[inline]
    fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send {
        future::ready(self.read_exact(buffer))
    }
}

impl Sink for File {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
        future::ready(self.write_all(bytes))
    }
}

impl Source for TcpStream {
    #[inline]
    fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send {
        future::ready(self.read_exact(buffer))
    }
}

impl Sink for TcpStream {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
        future::ready(self.write_all(bytes))
    }
}

impl Upstream for Receiver<u8> {
    #[inline]
    fn take(&mut self) -> impl Future<Output = Option<u8>> + Send {
        future::ready(self.recv().ok())
    }
}

impl Downstream for SyncSender<u8> {
    #[inline]
    fn pass(&mut self, byte: u8) -> impl Future<Output = bool> + Send {
        future::ready(self.send(byte).is_ok())
    }
}
