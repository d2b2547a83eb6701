//! tokio: both runtimes, with tokio's pipes, streams and channels.

use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Handle, Runtime as Inner};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::target::runtime::{
    Alarm, Closure, Downstream, Joined, Runtime, Spawn, Spawnable, Upstream, ends,
};

/// Starts a configured runtime.
pub(super) fn start(builder: &mut Builder) -> io::Result<Tokio> {
    builder.enable_all().build().map(Tokio)
}

/// Either runtime: they have the same type, and differ in how they are built.
pub(crate) struct Tokio(Inner);

impl Runtime for Tokio {
    type Spawner = Handle;
    type Task<T: Send + 'static> = Joined<JoinHandle<T>>;
    type Reader = pipe::Receiver;
    type Writer = pipe::Sender;
    type Stream = tokio::net::TcpStream;

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    #[inline]
    fn spawn<F: Spawnable>(&self, future: F) -> io::Result<Self::Task<F::Output>> {
        Ok(Joined(self.0.spawn(future)))
    }

    fn spawner(&self) -> Handle {
        self.0.handle().clone()
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }

    #[inline]
    fn execute_at(&self, time: Instant, job: impl Closure) -> io::Result<impl Alarm> {
        let sleep_until = tokio::time::sleep_until;
        Ok(self.0.spawn(async move {
            sleep_until(time.into()).await;
            job();
        }))
    }

    fn pipe(into: OwnedFd, out: OwnedFd) -> io::Result<(pipe::Sender, pipe::Receiver)> {
        Ok((pipe::Sender::from_owned_fd(into)?, pipe::Receiver::from_owned_fd(out)?))
    }

    fn stream(stream: TcpStream) -> io::Result<Self::Stream> {
        stream.set_nonblocking(true)?;
        tokio::net::TcpStream::from_std(stream)
    }
}

impl Spawn for Handle {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        drop(self.spawn(future));
        Ok(())
    }
}

impl Alarm for JoinHandle<()> {
    #[inline]
    fn cancel(self) {
        self.abort();
    }
}

ends!(pipe::Receiver, pipe::Sender, tokio::net::TcpStream => .await);

// The channel of every target.

impl<T: Send + 'static> Upstream<T> for mpsc::Receiver<T> {
    #[inline]
    async fn take(&mut self) -> Option<T> {
        self.recv().await
    }
}

impl<T: Send + 'static> Downstream<T> for mpsc::Sender<T> {
    #[inline]
    async fn pass(&mut self, value: T) -> bool {
        self.send(value).await.is_ok()
    }
}
