//! The traits of hyper for reading and writing.
//!
//! hyper lends memory that may be uninitialized, and a read into it would need unsafe code. So bytes are read into a
//! buffer of the thread and copied.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::ReadBufCursor;

use crate::asynchronous::Async;
use crate::sys::Pollable;

/// The most bytes of a read. hyper offers 8 KiB at first, and more once a connection fills them.
const MAX: usize = 16 * 1024;

brigade_sync::unmodelled::thread_local! {
    /// The buffer of this thread's last read.
    static KEPT: Cell<Option<Box<[u8; MAX]>>> = const { Cell::new(None) };
}

/// Calls with the thread's buffer; with another buffer if it is in use, or if the thread ends.
fn with_buffer<R>(call: impl FnOnce(&mut [u8; MAX]) -> R) -> R {
    let kept = KEPT.try_with(Cell::take).ok().flatten();
    let mut buffer = kept.unwrap_or_else(|| Box::new([0; MAX]));
    let result = call(&mut buffer);
    // It fails if the thread ends, and then the buffer is not needed.
    let _ = KEPT.try_with(|kept| kept.set(Some(buffer)));
    result
}

/// With the feature `hyper`. A read takes at most 16 KiB.
impl<T: Pollable> hyper::rt::Read for Async<T>
where
    for<'a> &'a T: io::Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let asked = cursor.remaining().min(MAX);
        with_buffer(|buffer| {
            let read = AsyncRead::poll_read(self, context, &mut buffer[..asked]);
            read.map_ok(|done| cursor.put_slice(&buffer[..done]))
        })
    }
}

/// With the feature `hyper`. Several pieces are written in a single call, if the type does so.
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
