//! The traits of hyper for reading and writing.
//!
//! hyper lends memory that may be uninitialized, and reading into that would need unsafe code. So bytes are read into a
//! buffer of the thread and copied.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::ReadBufCursor;

use crate::asynchronous::Async;
use crate::sys::Pollable;

/// The most bytes of one read. hyper offers 8 KiB at first, and more to a connection that fills them.
const MAX: usize = 16 * 1024;

brigade_sync::unmodelled::thread_local! {
    /// The buffer of this thread's last read.
    static KEPT: Cell<Option<Box<[u8; MAX]>>> = const { Cell::new(None) };
}

/// Calls with the thread's buffer; with another one if that is in use, or if the thread ends.
fn with_buffer<R>(call: impl FnOnce(&mut [u8; MAX]) -> R) -> R {
    let kept = KEPT.try_with(Cell::take).ok().flatten();
    let mut buffer = kept.unwrap_or_else(|| Box::new([0; MAX]));
    let result = call(&mut buffer);
    // It fails if the thread ends, and then the buffer is not needed.
    let _ = KEPT.try_with(|kept| kept.set(Some(buffer)));
    result
}

/// Reads into the thread's buffer, and copies from there.
fn poll_read_copied(
    io: Pin<&mut (impl AsyncRead + ?Sized)>,
    context: &mut Context<'_>,
    mut cursor: ReadBufCursor<'_>,
) -> Poll<io::Result<()>> {
    let asked = cursor.remaining().min(MAX);
    with_buffer(|buffer| {
        io.poll_read(context, &mut buffer[..asked]).map_ok(|done| cursor.put_slice(&buffer[..done]))
    })
}

/// Implements the traits by those of `futures-io`.
macro_rules! by_futures_io {
    (
        $(#[$read:meta])*
        read: [$($generics:tt)*] $type:ty where [$($readable:tt)*];
        $(#[$write:meta])*
        write: [$($writable:tt)*], vectored: $vectored:expr, $io:expr;
    ) => {
        $(#[$read])*
        impl<$($generics)*> hyper::rt::Read for $type
        where
            $($readable)*
        {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                cursor: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                poll_read_copied($io(self), context, cursor)
            }
        }

        $(#[$write])*
        impl<$($generics)*> hyper::rt::Write for $type
        where
            $($writable)*
        {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                AsyncWrite::poll_write($io(self), context, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                AsyncWrite::poll_flush($io(self), context)
            }

            fn poll_shutdown(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                AsyncWrite::poll_close($io(self), context)
            }

            fn is_write_vectored(&self) -> bool {
                $vectored
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                AsyncWrite::poll_write_vectored($io(self), context, buffers)
            }
        }
    };
}

by_futures_io! {
    /// With the feature `hyper`. One read takes at most 16 KiB.
    read: [T: Pollable] Async<T> where [for<'a> &'a T: io::Read];
    /// With the feature `hyper`. Several pieces are written in one call, if the type does so.
    write: [for<'a> &'a T: io::Write], vectored: true, std::convert::identity;
}

/// Anything that implements the traits of `futures-io`, for hyper: a connection with TLS, for example.
///
/// With the feature `hyper`. `TcpStream` and `UnixStream` need no wrapper, as they implement hyper's traits themselves.
///
/// One read takes at most 16 KiB. hyper collects small pieces before it writes them, as most such types write one at a
/// time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hyper<T>(T);

by_futures_io! {
    read: [T] Hyper<T> where [T: AsyncRead + Unpin];
    write: [T: AsyncWrite + Unpin], vectored: false, Hyper::pinned;
}

impl<T> Hyper<T> {
    /// Wraps a value.
    pub fn new(io: T) -> Self {
        Self(io)
    }

    /// Returns the value by reference.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// Returns the value by mutable reference.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: Unpin> Hyper<T> {
    fn pinned(self: Pin<&mut Self>) -> Pin<&mut T> {
        Pin::new(&mut self.get_mut().0)
    }
}
