//! smol: its executor, run by threads that wait for I/O when there is nothing to run, as in its
//! documentation; the executor of `smol::spawn` has one thread and can't be ended.

use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use futures_rustls::TlsAcceptor;
use futures_rustls::server::TlsStream;
use rustls::ServerConfig;
use smol::channel::{self, Sender};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, Executor, Timer};
use smol_hyper::rt::FuturesIo;
use tokio::sync::mpsc;

use crate::target::runtime::{Alarm, Runtime, Spawn, Start, ends};
use crate::target::{Entry, Listing};

/// The executor on threads, and a thread of async-io's own, which waits for I/O when no other does.
pub(crate) const EXECUTOR: Listing<Start<Smol>> = Listing {
    entry: Entry::peer("smol", "smol: an Executor, run by threads")
        .with_threads(|threads, _| threads + 1),
    start,
};

/// Starts the threads.
fn start(threads: usize) -> io::Result<Smol> {
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
    type Spawner = Arc<Executor<'static>>;
    type Task<T: Send + 'static> = smol::Task<T>;
    type Reader = Async<File>;
    type Writer = Async<File>;
    type Stream = Async<TcpStream>;
    type Http = FuturesIo<Async<TcpStream>>;
    type Secure = FuturesIo<TlsStream<Async<TcpStream>>>;
    type Receiver = mpsc::Receiver<u8>;
    type Sender = mpsc::Sender<u8>;
    type Alarm = smol::Task<()>;

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

    fn spawner(&self) -> Arc<Executor<'static>> {
        Arc::clone(&self.executor)
    }

    async fn sleep(time: Duration) {
        Timer::after(time).await;
    }

    #[inline]
    fn execute_at<F>(&self, time: Instant, job: F) -> io::Result<smol::Task<()>>
    where
        F: FnOnce() + Send + 'static,
    {
        Ok(self.executor.spawn(async move {
            Timer::at(time).await;
            job();
        }))
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

    fn http(stream: Self::Stream) -> Self::Http {
        FuturesIo::new(stream)
    }

    async fn secure(stream: Self::Stream, config: Arc<ServerConfig>) -> io::Result<Self::Secure> {
        TlsAcceptor::from(config).accept(stream).await.map(FuturesIo::new)
    }

    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::channel(capacity)
    }

    fn shutdown(self) {
        drop(self.open);
        // A thread that panicked has printed that, and the tasks it should have run are missing.
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Spawn for Arc<Executor<'static>> {
    #[inline]
    fn detach<F>(&self, future: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(future).detach();
        Ok(())
    }
}

impl Alarm for smol::Task<()> {
    fn detach(self) {
        smol::Task::detach(self);
    }

    #[inline]
    fn cancel(self) {
        // A task that is dropped is cancelled.
        drop(self);
    }
}

ends!(Async<File>, Async<File>, Async<TcpStream>);
