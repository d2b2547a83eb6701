//! Reading and writing bytes, by the traits of `futures-io`.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use rustix::io::Errno;
use rustix::net::Shutdown;

use crate::Async;
use crate::attempt::Left;
use crate::sys::{Pollable, borrow};
use crate::waiting::Direction;

/// Something, but less than asked, says that there is no more. Nothing at all is the end, which stays.
fn left_after(done: usize, asked: usize, all: Left) -> Left {
    match done {
        0 => Left::Unknown,
        done if done < asked => Left::Nothing,
        _ => all,
    }
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
        let left = |&done: &usize| left_after(done, asked, Left::Perhaps);
        self.poll_attempt(Direction::Read, context, read, left)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        // Whether the type fills more than the first is its own affair: a short read proves nothing.
        let read = |mut io: &T| io.read_vectored(buffers);
        self.poll_attempt(Direction::Read, context, read, |_| Left::Unknown)
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
        let left = |&done: &usize| left_after(done, asked, Left::Unknown);
        self.poll_attempt(Direction::Write, context, write, left)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let write = |mut io: &T| io.write_vectored(buffers);
        self.poll_attempt(Direction::Write, context, write, |_| Left::Unknown)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // First without waiting for room: it needs none, of all types here.
        match self.get_ref().flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.poll_attempt(
                Direction::Write,
                context,
                |mut io: &T| io.flush(),
                |()| Left::Unknown,
            ),
            outcome => Poll::Ready(outcome),
        }
    }

    /// Flushes; then, if it is a socket, tells the other side that nothing more comes.
    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.as_mut().poll_flush(context)? {
            Poll::Ready(()) => {}
            Poll::Pending => return Poll::Pending,
        }
        Poll::Ready(match rustix::net::shutdown(borrow(self.get_ref()), Shutdown::Write) {
            // No socket, or the other side has gone.
            Ok(()) | Err(Errno::NOTSOCK | Errno::NOTCONN) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }
}

impl<T: Pollable> AsyncRead for Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read(context, buffer)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_read_vectored(context, buffers)
    }
}

impl<T: Pollable> AsyncWrite for Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write_vectored(context, buffers)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_close(context)
    }
}
