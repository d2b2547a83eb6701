//! The traits of runtimes of futures, and of threads that do the same: tasks, links between them, and
//! streams.
//!
//! A workload is written once, with futures, and each target provides the I/O that these wait for. A thread
//! is a target too: it runs one future to its end, and its I/O blocks, so that no future of a thread is ever
//! polled twice.
//!
//! The I/O follows the target's own documentation, and reads and writes no more than requested.

use std::future::Future;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, UnexpectedEof},
};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
#[cfg(feature = "full")]
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "full")]
use rustls::ServerConfig;

use crate::failure::Outcome;

/// Runs futures.
pub(crate) trait Runtime: Sized + Sync + 'static {
    /// Its handle for spawning from anywhere.
    type Spawner: Spawn;
    /// The end of a task, which is its result. One that is not awaited may be cancelled.
    type Task<T: Send + 'static>: Future<Output = T> + Send;
    /// The end of a pipe that bytes come out of.
    type Reader: Source;
    /// The end of a pipe that bytes go into.
    type Writer: Sink;
    /// A TCP stream.
    type Stream: Source + Sink;
    /// The same for hyper.
    #[cfg(feature = "full")]
    type Http: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static;
    /// The same with TLS.
    #[cfg(feature = "full")]
    type Secure: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static;
    /// A closure that waits for its time. One that is dropped may be cancelled.
    type Alarm: Alarm;

    /// Runs `future` to its end on this thread.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Spawns `future`. This fails only if a thread can't be started.
    fn spawn<F>(&self, future: F) -> io::Result<Self::Task<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// Spawns from anywhere, from inside of a task too.
    fn spawner(&self) -> Self::Spawner;

    /// Waits for this long; must be awaited inside a task or inside `block_on`.
    fn sleep(time: Duration) -> impl Future<Output = ()> + Send;

    /// Runs `job` at `time`, by the target's own timer for closures, or in a task that sleeps until then. This fails only if a
    /// thread can't be started.
    fn execute_at<F>(&self, time: Instant, job: F) -> io::Result<Self::Alarm>
    where
        F: FnOnce() + Send + 'static;

    /// Reads from this end of a pipe; must be called inside `block_on`, as the next two.
    fn reader(end: OwnedFd) -> io::Result<Self::Reader>;

    /// Writes to this end of a pipe.
    fn writer(end: OwnedFd) -> io::Result<Self::Writer>;

    /// Reads from this connection and writes to it.
    fn stream(stream: TcpStream) -> io::Result<Self::Stream>;

    /// Lets hyper read from this connection and write to it. hyper reads ahead, so one that blocks never gets an answer.
    #[cfg(feature = "full")]
    fn http(stream: Self::Stream) -> Self::Http;

    /// Does the server's part of a TLS handshake over this connection, and lets hyper read and write what is encrypted.
    #[cfg(feature = "full")]
    fn secure(
        stream: Self::Stream,
        config: Arc<ServerConfig>,
    ) -> impl Future<Output = io::Result<Self::Secure>> + Send;

    /// Ends the runtime. Its tasks have ended, except those that wait forever.
    fn shutdown(self) {}
}

/// Spawns tasks from anywhere.
pub(crate) trait Spawn: Clone + Send + 'static {
    /// Spawns `future`, detached. This fails only if a thread can't be started.
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()>;
}

/// A closure that waits for its time.
pub(crate) trait Alarm: Send + 'static {
    /// Lets it run at its time.
    fn detach(self);

    /// Ends the wait. A closure that has not begun does not run.
    fn cancel(self);
}

/// A source of bytes.
pub(crate) trait Source: Send + 'static {
    /// Fills all of `buffer`; an error if the other end is closed before that.
    fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send;

    /// Reads what is there, one byte at least, and says how much it is; 0 if the other end is closed.
    fn some(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;
}

/// A sink for bytes.
pub(crate) trait Sink: Send + 'static {
    /// Writes all of `bytes`.
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// Lets the two ends of a pipe and a stream read and write by the methods of a runtime's own traits, which must be in scope.
macro_rules! ends {
    ($reader:ty, $writer:ty, $stream:ty) => {
        $crate::target::runtime::ends!(source $reader);
        $crate::target::runtime::ends!(source $stream);
        $crate::target::runtime::ends!(sink $writer);
        $crate::target::runtime::ends!(sink $stream);
    };
    (source $source:ty) => {
        impl $crate::target::runtime::Source for $source {
            #[inline]
            async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
                // Some say how much it was.
                self.read_exact(buffer).await.map(|_| ())
            }

            #[inline]
            async fn some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.read(buffer).await
            }
        }
    };
    (sink $sink:ty) => {
        impl $crate::target::runtime::Sink for $sink {
            #[inline]
            async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
                self.write_all(bytes).await
            }
        }
    };
}

pub(crate) use ends;

/// The end of a link or a channel that one value after the other comes out of.
pub(crate) trait Upstream<T = u8>: Send + 'static {
    /// The next value; none when the other end is gone and all values are taken.
    fn take(&mut self) -> impl Future<Output = Option<T>> + Send;
}

/// The end of a link or a channel that one value after the other goes into.
pub(crate) trait Downstream<T = u8>: Send + 'static {
    /// Passes this value on; false when the other end is gone.
    fn pass(&mut self, value: T) -> impl Future<Output = bool> + Send;
}

/// The end of a pipe as the end of a link.
pub(crate) struct Piped<P>(pub(crate) P);

impl<P: Source> Upstream for Piped<P> {
    #[inline]
    async fn take(&mut self) -> Option<u8> {
        let mut byte = [0];
        unless_gone(self.0.fill(&mut byte).await).map(|()| byte[0])
    }
}

impl<P: Sink> Downstream for Piped<P> {
    #[inline]
    async fn pass(&mut self, byte: u8) -> bool {
        unless_gone(self.0.put(&[byte]).await).is_some()
    }
}

/// The result of a read or a write, `None` if the other end is closed. Any other error panics in the task,
/// since a broken pipe is not a closed one.
fn unless_gone<T>(outcome: io::Result<T>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) if matches!(error.kind(), UnexpectedEof | BrokenPipe) => None,
        Err(error) => panic!("a pipe failed: {error}"),
    }
}

/// Starts a runtime with this many threads, if it has a choice.
pub(crate) type Start<R> = fn(usize) -> io::Result<R>;

/// An operation on a runtime, generic over the runtime.
pub(crate) trait VisitRuntime {
    /// Runs it with a runtime that `start` starts.
    fn visit<R: Runtime>(self, start: Start<R>) -> Outcome;
}
