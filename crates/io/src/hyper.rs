//! A door for hyper, which reads and writes by traits of its own.
//!
//! hyper lends room that may not be written to yet, into which nothing here may read without unsafe code. So what is read
//! is copied, from room that the thread keeps.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::ReadBufCursor;

use crate::Async;
use crate::sys::Pollable;

/// The most that one read takes. hyper offers 8 KiB at first, and more to a connection that fills them.
const MOST: usize = 16 * 1024;

std::thread_local! {
    /// Where the last read of this thread was to, to be read into again.
    static KEPT: Cell<Option<Box<[u8; MOST]>>> = const { Cell::new(None) };
}

/// Calls with the thread's room; with another if that is in use, or if the thread ends.
fn with_room<R>(call: impl FnOnce(&mut [u8; MOST]) -> R) -> R {
    let kept = KEPT.try_with(Cell::take).ok().flatten();
    let mut room = kept.unwrap_or_else(|| Box::new([0; MOST]));
    let result = call(&mut room);
    // The thread ends: nobody will ask for it.
    let _ = KEPT.try_with(|kept| kept.set(Some(room)));
    result
}

/// With the feature `hyper`. One read takes at most 16 KiB.
impl<T: Pollable> hyper::rt::Read for Async<T>
where
    for<'a> &'a T: io::Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let asked = buffer.remaining().min(MOST);
        with_room(|room| {
            AsyncRead::poll_read(self, context, &mut room[..asked])
                .map_ok(|done| buffer.put_slice(&room[..done]))
        })
    }
}

/// With the feature `hyper`. What hyper has in several pieces goes out in one call, if the type does so.
impl<T: Pollable> hyper::rt::Write for Async<T>
where
    for<'a> &'a T: io::Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(self, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(self, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_close(self, context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write_vectored(self, context, buffers)
    }
}
