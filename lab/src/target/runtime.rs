//! The traits of runtimes of futures, and of threads as a runtime: tasks, links between them, and
//! streams.
//!
//! A workload is written once, with futures, and each target provides the I/O for them. A thread is a target too:
//! it runs a single future until it is ready, with blocking I/O, so no future of a thread is ever
//! polled twice.
//!
//! The I/O follows the target's own documentation, and reads and writes no more than requested.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, UnexpectedEof, Unsupported},
};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::failure::Outcome;
#[cfg(feature = "full")]
use crate::target::web::Web;

/// Runs futures.
pub(crate) trait Runtime: Sized + Sync + 'static {
    /// The handle for spawning from anywhere.
    type Spawner: Spawn;
    /// The end of a task: a future of the result. Unless awaited, the task may be cancelled.
    type Task<T: Send + 'static>: Future<Output = T> + Send;
    /// The reading end of a pipe.
    type Reader: Source;
    /// The writing end of a pipe.
    type Writer: Sink;
    /// A TCP stream.
    #[cfg(not(feature = "full"))]
    type Stream: Source + Sink;
    /// A TCP stream, which hyper may have.
    #[cfg(feature = "full")]
    type Stream: Source + Sink + Web;

    /// Runs `future` on this thread until it is ready.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Spawns `future`. This fails only if a thread can't be started.
    fn spawn<F: Spawnable>(&self, future: F) -> io::Result<Self::Task<F::Output>>;

    /// Spawns from anywhere, from inside of a task too.
    fn spawner(&self) -> Self::Spawner;

    /// Waits for this long; must be awaited inside a task or inside `block_on`.
    fn sleep(time: Duration) -> impl Future<Output = ()> + Send;

    /// Runs `job` at `time`, by the target's own timer for closures, or in a sleeping task. A dropped alarm may be cancelled. Without
    /// cancelled tasks there are no alarms.
    fn execute_at(&self, _time: Instant, _job: impl Closure) -> io::Result<impl Alarm> {
        Err::<Infallible, _>(Unsupported.into())
    }

    /// Writes to a pipe and reads from it, whose ends these are; must be called inside `block_on`, as the next.
    fn pipe(into: OwnedFd, out: OwnedFd) -> io::Result<(Self::Writer, Self::Reader)>;

    /// Reads from this connection and writes to it.
    fn stream(stream: TcpStream) -> io::Result<Self::Stream>;

    /// Ends the runtime. Its tasks have ended, except those that wait forever.
    fn shutdown(self) {}
}

/// A future that every runtime can spawn.
pub(crate) trait Spawnable: Future<Output: Send + 'static> + Send + 'static {}

impl<F: Future<Output: Send + 'static> + Send + 'static> Spawnable for F {}

/// A closure that every runtime can call later.
pub(crate) trait Closure: FnOnce() + Send + 'static {}

impl<F: FnOnce() + Send + 'static> Closure for F {}

/// Spawns tasks from anywhere.
pub(crate) trait Spawn: Clone + Send + 'static {
    /// Spawns `future`, detached. This fails only if a thread can't be started.
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()>;
}

/// A closure that waits for a time. A type whose drop detaches, or cancels, can keep the default method.
pub(crate) trait Alarm: Send + Sized + 'static {
    /// Lets it run at the time.
    fn detach(self) {}

    /// Ends the wait. An unstarted closure does not run.
    #[inline]
    fn cancel(self) {}
}

impl Alarm for Infallible {}

/// A task whose panic continues in the task that awaits it.
pub(crate) struct Joined<H>(pub(crate) H);

impl<T, E: Debug, H: Future<Output = Result<T, E>> + Unpin> Future for Joined<H> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let end = Pin::new(&mut self.0).poll(context);
        end.map(|end| end.expect("a task that neither panics nor is cancelled"))
    }
}

/// A source of bytes.
pub(crate) trait Source: Send + 'static {
    /// Fills all of `buffer`; an error if the other end is closed before.
    fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send {
        async move {
            let mut filled = 0;
            while filled < buffer.len() {
                match self.some(&mut buffer[filled..]).await? {
                    0 => return Err(UnexpectedEof.into()),
                    read => filled += read,
                }
            }
            Ok(())
        }
    }

    /// Reads the bytes there are, at least one, and returns their number; 0 if the other end is closed.
    fn some(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;
}

/// A sink for bytes.
pub(crate) trait Sink: Send + 'static {
    /// Writes all of `bytes`.
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// Lets the two ends of a pipe and a stream read and write by the methods of a runtime's own traits, which must be in scope. Behind the
/// types is `.await`, unless these methods block.
macro_rules! ends {
    ($reader:ty, $writer:ty, $stream:ty $(=> $($wait:tt)+)?) => {
        $crate::target::runtime::ends!(source $reader $(=> $($wait)+)?);
        $crate::target::runtime::ends!(source $stream $(=> $($wait)+)?);
        $crate::target::runtime::ends!(sink $writer $(=> $($wait)+)?);
        $crate::target::runtime::ends!(sink $stream $(=> $($wait)+)?);
    };
    (source $source:ty $(=> $($wait:tt)+)?) => {
        impl $crate::target::runtime::Source for $source {
            #[inline]
            async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<()> {
                // Some say how much it was.
                self.read_exact(buffer)$($($wait)+)?.map(|_| ())
            }

            #[inline]
            async fn some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.read(buffer)$($($wait)+)?
            }
        }
    };
    (sink $sink:ty $(=> $($wait:tt)+)?) => {
        impl $crate::target::runtime::Sink for $sink {
            #[inline]
            async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
                self.write_all(bytes)$($($wait)+)?
            }
        }
    };
}

pub(crate) use ends;

/// The receiving end of a link or a channel, a value at a time.
pub(crate) trait Upstream<T = u8>: Send + 'static {
    /// The next value; none when the other end is gone and all values are taken.
    fn take(&mut self) -> impl Future<Output = Option<T>> + Send;
}

/// The sending end of a link or a channel, a value at a time.
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
/// since a broken pipe is not a closed pipe.
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
    /// Runs it with the runtime of `start`.
    fn visit<R: Runtime>(self, start: Start<R>) -> Outcome;
}
