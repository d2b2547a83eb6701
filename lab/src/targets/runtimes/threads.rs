//! A thread for each task, with blocking reads and writes.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::panic;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

use futures_lite::future::block_on;

use crate::target::runtime::{Runtime, Spawn, Spawnable, ends};

/// Starts threads.
pub(crate) struct Threads;

/// Starts threads from anywhere.
#[derive(Clone)]
pub(crate) struct Starter;

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

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(future)
    }

    #[inline]
    fn spawn<F: Spawnable>(&self, future: F) -> io::Result<Joining<F::Output>> {
        Builder::new().spawn(|| block_on(future)).map(|thread| Joining(Some(thread)))
    }

    fn spawner(&self) -> Starter {
        Starter
    }

    async fn sleep(time: Duration) {
        thread::sleep(time);
    }

    fn pipe(into: OwnedFd, out: OwnedFd) -> io::Result<(File, File)> {
        Ok((File::from(into), File::from(out)))
    }

    fn stream(stream: TcpStream) -> io::Result<TcpStream> {
        Ok(stream)
    }
}

impl Spawn for Starter {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        Builder::new().spawn(|| block_on(future)).map(drop)
    }
}

ends!(File, File, TcpStream);
