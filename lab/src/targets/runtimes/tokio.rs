//! tokio: both of its runtimes, with its own pipes, streams and channels.

use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime as Inner};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Downstream, Runtime, Sink, Source, Upstream};

/// The runtime with worker threads.
pub(crate) struct Tokio(Inner);

/// The runtime of the thread that blocks on it.
pub(crate) struct TokioCurrentThread(Inner);

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

/// Both runtimes are one type to tokio, and differ in how they are built.
macro_rules! runtime {
    ($name:ident, $threads:ident => $builder:expr) => {
        impl Runtime for $name {
            type Task<T: Send + 'static> = Task<T>;
            type Reader = pipe::Receiver;
            type Writer = pipe::Sender;
            type Stream = tokio::net::TcpStream;
            type Receiver = mpsc::Receiver<u8>;
            type Sender = mpsc::Sender<u8>;

            fn start($threads: usize) -> io::Result<Self> {
                $builder.enable_io().build().map($name)
            }

            fn block_on<F: Future>(&self, future: F) -> F::Output {
                self.0.block_on(future)
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

            fn reader(end: OwnedFd) -> io::Result<Self::Reader> {
                pipe::Receiver::from_owned_fd(end)
            }

            fn writer(end: OwnedFd) -> io::Result<Self::Writer> {
                pipe::Sender::from_owned_fd(end)
            }

            fn stream(stream: TcpStream) -> io::Result<Self::Stream> {
                stream.set_nonblocking(true)?;
                tokio::net::TcpStream::from_std(stream)
            }

            fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
                mpsc::channel(capacity)
            }

            fn shutdown(self) {
                drop(self.0);
            }
        }
    };
}

runtime!(Tokio, threads => Builder::new_multi_thread().worker_threads(threads));
runtime!(TokioCurrentThread, _threads => Builder::new_current_thread());

impl Source for pipe::Receiver {
    #[inline]
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact(buffer).await.map(drop)
    }
}

impl Sink for pipe::Sender {
    #[inline]
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }
}

impl Source for tokio::net::TcpStream {
    #[inline]
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact(buffer).await.map(drop)
    }
}

impl Sink for tokio::net::TcpStream {
    #[inline]
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }
}

// The channel of every target that has tasks.

impl Upstream for mpsc::Receiver<u8> {
    #[inline]
    async fn take(&mut self) -> Option<u8> {
        self.recv().await
    }
}

impl Downstream for mpsc::Sender<u8> {
    #[inline]
    async fn pass(&mut self, byte: u8) -> bool {
        self.send(byte).await.is_ok()
    }
}
