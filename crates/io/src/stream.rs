//! Reading and writing bytes, by the traits of `futures-io`.

use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use rustix::io::Errno;
use rustix::net::Shutdown;

use crate::asynchronous::Async;
use crate::attempt::Next;
use crate::event::Direction;
use crate::sys::{Pollable, borrow};
use crate::waiters::SlotId;

/// By level, a read that fills a buffer of at least this size is followed by another, and of a smaller buffer by a wait.
///
/// If nothing is left, the other read is a wasted system call of 240 ns. If something is left, the wait is wasted: 530 ns
/// and a further poll of the task. Smaller buffers belong to records, read singly (a byte, an integer, the 128 bytes of
/// `signalfd`); streams fill larger buffers. `docs/design/io.md` has the measurement.
const LARGE: usize = 512;

/// After a short read nothing is left. Zero bytes are the end, which stays.
fn after_read(done: usize, asked: usize) -> Next {
    match done {
        0 => Next::Unknown,
        _ if done < asked => Next::Blocks,
        _ if asked < LARGE => Next::ProbablyBlocks,
        _ => Next::Unknown,
    }
}

/// After a short write there is no room.
fn after_write(done: usize, asked: usize) -> Next {
    if 0 < done && done < asked { Next::Blocks } else { Next::Unknown }
}

/// Shuts the write direction of a connection down, unless this is the child of a fork: the connection is the parent's as well.
pub(crate) fn shut_down_writing<T: Pollable>(stream: &Async<T>) -> io::Result<()> {
    stream.driver().check_process()?;
    Ok(rustix::net::shutdown(borrow(stream.get_ref()), Shutdown::Write)?)
}

impl<T: Pollable> AsyncRead for &Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let asked = buffer.len();
        let read = |mut io: &T| io.read(buffer);
        let next = |&done: &usize| after_read(done, asked);
        self.poll_with(Direction::Read, context, read, next)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        // A type may fill the first buffer only, so a short read proves nothing.
        let read = |mut io: &T| io.read_vectored(buffers);
        self.poll_with(Direction::Read, context, read, |_| Next::Unknown)
    }
}

impl<T: Pollable> AsyncWrite for &Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let asked = bytes.len();
        let write = |mut io: &T| io.write(bytes);
        let next = |&done: &usize| after_write(done, asked);
        self.poll_with(Direction::Write, context, write, next)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = |mut io: &T| io.write_vectored(buffers);
        self.poll_with(Direction::Write, context, write, |_| Next::Unknown)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let (io, source) = (self.get_ref(), self.source());
        ready!(source.turns.write.poll_ready(context));
        // First without waiting for room: the types of this crate need none.
        match { io }.flush() {
            Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => {
                let wait = || source.poll_ready(Direction::Write, SlotId::Polled, context);
                let flush = |mut io: &T| io.flush();
                source.poll_attempt(Direction::Write, io, flush, |()| Next::Unknown, wait)
            }
            outcome => Poll::Ready(outcome),
        }
    }

    /// Flushes, and ends the writing direction if it is a socket.
    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        Poll::Ready(match rustix::net::shutdown(borrow(self.get_ref()), Shutdown::Write) {
            // It is no socket, or the other side is gone.
            Ok(()) | Err(Errno::NOTSOCK | Errno::NOTCONN) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }
}

/// Implements `AsyncRead` through a reference to `$io`.
macro_rules! delegate_read {
    ([$($generics:tt)*] $type:ty where [$($bound:tt)*]: $this:ident => $io:expr) => {
        impl<$($generics)*> AsyncRead for $type
        where
            $($bound)*
        {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let $this = self;
                Pin::new(&mut &$io).poll_read(context, buffer)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffers: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                let $this = self;
                Pin::new(&mut &$io).poll_read_vectored(context, buffers)
            }
        }
    };
}
pub(crate) use delegate_read;

/// Implements `AsyncWrite` through a reference to `$io`.
macro_rules! delegate_write {
    ([$($generics:tt)*] $type:ty where [$($bound:tt)*]: $this:ident => $io:expr) => {
        impl<$($generics)*> AsyncWrite for $type
        where
            $($bound)*
        {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                let $this = self;
                Pin::new(&mut &$io).poll_write(context, bytes)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let $this = self;
                Pin::new(&mut &$io).poll_write_vectored(context, buffers)
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = self;
                Pin::new(&mut &$io).poll_flush(context)
            }

            fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = self;
                Pin::new(&mut &$io).poll_close(context)
            }
        }
    };
}
pub(crate) use delegate_write;

delegate_read! { [T: Pollable] Async<T> where [for<'a> &'a T: Read]: this => *this }
delegate_write! { [T: Pollable] Async<T> where [for<'a> &'a T: Write]: this => *this }
