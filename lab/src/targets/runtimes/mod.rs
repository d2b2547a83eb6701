//! What runs futures, and threads that do the same: tasks, links between them, and streams.
//!
//! A workload is written once, with futures, and each target brings what these wait on. A thread is a
//! target too: it runs one future to its end, and what that waits on blocks, so that no future of a
//! thread is ever polled twice.
//!
//! The I/O is in the idiom that the target's own documentation offers, and reads and writes no more
//! than it is told.

mod brigade;
mod smol;
mod threads;
mod tokio;

use std::future::Future;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, UnexpectedEof},
};
use std::net::TcpStream;
use std::os::fd::OwnedFd;

pub(crate) use self::brigade::{Brigade, BrigadeOneThread};
pub(crate) use self::smol::Smol;
pub(crate) use self::threads::Threads;
pub(crate) use self::tokio::{Tokio, TokioCurrentThread};

/// Runs futures.
pub(crate) trait Runtime: Sized + Sync + 'static {
    /// The end of a task, which is its result. One that nobody awaits may be cancelled.
    type Task<T: Send + 'static>: Future<Output = T> + Send;
    /// The end of a pipe that bytes come out of.
    type Reader: Source;
    /// The end of a pipe that bytes go into.
    type Writer: Sink;
    /// A TCP stream.
    type Stream: Source + Sink;
    /// The end of a channel that bytes come out of.
    type Receiver: Upstream;
    /// The end of a channel that bytes go into.
    type Sender: Downstream;

    /// Starts a runtime with so many threads, if it has a choice.
    fn start(threads: usize) -> io::Result<Self>;

    /// Runs `future` to its end on this thread.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Runs `future` beside others. Only a thread can be refused.
    fn spawn<F>(&self, future: F) -> io::Result<Self::Task<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// The same for a task whose end nobody waits for.
    fn detach<F>(&self, future: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static;

    /// Reads from this end of a pipe; to be called inside of `block_on`, as the next two.
    fn reader(end: OwnedFd) -> io::Result<Self::Reader>;

    /// Writes to this end of a pipe.
    fn writer(end: OwnedFd) -> io::Result<Self::Writer>;

    /// Reads from this connection and writes to it.
    fn stream(stream: TcpStream) -> io::Result<Self::Stream>;

    /// A channel for so many bytes.
    fn channel(capacity: usize) -> (Self::Sender, Self::Receiver);

    /// Ends the runtime. Its tasks have ended, but for those that wait for ever.
    fn shutdown(self);
}

/// Where bytes come from.
pub(crate) trait Source: Send + 'static {
    /// Fills all of `buffer`; an error if the other end is closed before that.
    fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// Where bytes go.
pub(crate) trait Sink: Send + 'static {
    /// Writes all of `bytes`.
    fn put(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
}

/// The end of a link that one byte after the other comes out of.
pub(crate) trait Upstream: Send + 'static {
    /// The next byte; none when the other end is gone and all bytes are read.
    fn take(&mut self) -> impl Future<Output = Option<u8>> + Send;
}

/// The end of a link that one byte after the other goes into.
pub(crate) trait Downstream: Send + 'static {
    /// Passes this byte on; false when the other end is gone.
    fn pass(&mut self, byte: u8) -> impl Future<Output = bool> + Send;
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

/// What came of a read or a write, if the other end is there. All else is the end of who asked for it,
/// since a pipe that is broken is no pipe that is closed.
fn unless_gone<T>(outcome: io::Result<T>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) if matches!(error.kind(), UnexpectedEof | BrokenPipe) => None,
        Err(error) => panic!("a pipe failed: {error}"),
    }
}

/// Which runtime it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuntimeKind {
    /// brigade's pool.
    Brigade,
    /// brigade's pool with one thread, whatever it is told.
    BrigadeOneThread,
    /// tokio's runtime with worker threads.
    Tokio,
    /// tokio's runtime on the thread that blocks on it.
    TokioCurrentThread,
    /// smol's executor on threads of ours.
    Smol,
    /// A thread for each task.
    Threads,
    /// No tasks at all: one thread that does their reads and writes.
    Floor,
}

impl RuntimeKind {
    /// Whether it has tasks that are no threads.
    pub(crate) fn has_tasks(self) -> bool {
        !matches!(self, RuntimeKind::Threads | RuntimeKind::Floor)
    }

    /// Threads that it has at most for `tasks` tasks, when it is told to have so many.
    pub(crate) fn threads(self, threads: usize, tasks: usize) -> usize {
        match self {
            RuntimeKind::Brigade | RuntimeKind::Tokio => threads,
            RuntimeKind::BrigadeOneThread => 1,
            // A thread of async-io's own, which waits for I/O when nobody else does.
            RuntimeKind::Smol => threads + 1,
            RuntimeKind::TokioCurrentThread | RuntimeKind::Floor => 0,
            RuntimeKind::Threads => tasks,
        }
    }
}

#[cfg(test)]
mod tests;
