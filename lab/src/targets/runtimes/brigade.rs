//! brigade: a pool as a runtime, with brigade's pipes and streams.

use std::future::Future;
use std::io;
use std::net;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use brigade::io::{Async, PipeReader, PipeWriter, TcpStream};
use brigade::time::Timer;
use brigade::{Builder, Handle, JoinHandle, Pool};
use smol::io::{AsyncReadExt, AsyncWriteExt};

use crate::target::runtime::{Alarm, Closure, Joined, Runtime, Spawn, Spawnable, ends};

/// Starts this pool.
pub(super) fn start(builder: Builder) -> io::Result<Brigade> {
    builder.build().map(Brigade)
}

/// A pool.
pub(crate) struct Brigade(Pool);

impl Runtime for Brigade {
    type Spawner = Handle;
    type Task<T: Send + 'static> = Joined<JoinHandle<T>>;
    type Reader = PipeReader;
    type Writer = PipeWriter;
    type Stream = TcpStream;

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.handle().enter(|| brigade::block_on(future))
    }

    #[inline]
    fn spawn<F: Spawnable>(&self, future: F) -> io::Result<Self::Task<F::Output>> {
        Ok(Joined(self.0.spawn(future)))
    }

    fn spawner(&self) -> Handle {
        self.0.handle()
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
        brigade::time::sleep(time)
    }

    #[inline]
    fn execute_at(&self, time: Instant, job: impl Closure) -> io::Result<impl Alarm> {
        self.0.job().at(time).execute(job).map_err(io::Error::other)
    }

    fn pipe(into: OwnedFd, out: OwnedFd) -> io::Result<(PipeWriter, PipeReader)> {
        Ok((PipeWriter::from_fd(into)?, PipeReader::from_fd(out)?))
    }

    fn stream(stream: net::TcpStream) -> io::Result<TcpStream> {
        Async::new(stream)
    }

    // Joins the threads, and drops the tasks that wait forever.
}

impl Spawn for Handle {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        // A rejected task is lost, and the tally reports it.
        drop(self.spawn(future));
        Ok(())
    }
}

impl Alarm for Timer {
    #[inline]
    fn cancel(self) {
        // A closure that has begun is counted as run.
        let _ = Timer::cancel(&self);
    }
}

ends!(PipeReader, PipeWriter, TcpStream => .await);
