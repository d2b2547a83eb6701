//! smol: its executor, run by threads that wait for I/O when there is nothing to run, as its
//! documentation does it; `smol::spawn` would have one thread and no end.

use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use smol::channel::{self, Sender};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, Executor};
use tokio::sync::mpsc;

use super::{Runtime, Sink, Source};

/// An executor and its threads.
pub(crate) struct Smol {
    /// What runs the tasks.
    executor: Arc<Executor<'static>>,
    /// Threads that run them.
    threads: Vec<JoinHandle<()>>,
    /// Ends the threads when it is gone.
    open: Sender<Infallible>,
}

impl Runtime for Smol {
    type Task<T: Send + 'static> = smol::Task<T>;
    type Reader = Async<File>;
    type Writer = Async<File>;
    type Stream = Async<TcpStream>;
    type Receiver = mpsc::Receiver<u8>;
    type Sender = mpsc::Sender<u8>;

    fn start(threads: usize) -> io::Result<Self> {
        let executor = Arc::new(Executor::new());
        let (open, closed) = channel::bounded::<Infallible>(1);
        let threads = (0..threads).map(|_| {
            let (executor, closed) = (Arc::clone(&executor), closed.clone());
            let run = move || {
                let _ = smol::block_on(executor.run(closed.recv()));
            };
            thread::Builder::new().name("smol".to_owned()).spawn(run)
        });
        let threads = threads.collect::<io::Result<_>>()?;
        Ok(Smol { executor, threads, open })
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    #[inline]
    fn spawn<F>(&self, future: F) -> io::Result<smol::Task<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Ok(self.executor.spawn(future))
    }

    fn detach<F>(&self, future: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.executor.spawn(future).detach();
        Ok(())
    }

    fn reader(end: OwnedFd) -> io::Result<Async<File>> {
        Async::new(File::from(end))
    }

    fn writer(end: OwnedFd) -> io::Result<Async<File>> {
        Async::new(File::from(end))
    }

    fn stream(stream: TcpStream) -> io::Result<Async<TcpStream>> {
        Async::new(stream)
    }

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::channel(capacity)
    }

    fn shutdown(self) {
        drop(self.open);
        // One that panicked has said so, and what it should have run is missing.
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Source for Async<File> {
    #[inline]
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact(buffer).await
    }
}

impl Sink for Async<File> {
    #[inline]
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }
}

impl Source for Async<TcpStream> {
    #[inline]
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact(buffer).await
    }
}

impl Sink for Async<TcpStream> {
    #[inline]
    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }
}
