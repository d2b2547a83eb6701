//! A connection in two halves, for two tasks.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

use crate::stream::{delegate_read, delegate_write};

/// The reading half of a connection; made by the method `split` of `TcpStream` and `UnixStream`.
///
/// [`as_ref`](AsRef::as_ref) lends the whole connection. Dropping this half shuts nothing down: bytes that arrive are left
/// unread.
#[derive(Debug)]
pub struct ReadHalf<S>(Arc<S>);

/// The writing half of a connection; made by the method `split` of `TcpStream` and `UnixStream`.
///
/// Closing or dropping this half shuts the write direction down: the other side reads the end after the last byte.
/// [`as_ref`](AsRef::as_ref) lends the whole connection.
pub struct WriteHalf<S> {
    stream: Arc<S>,
    /// Shuts the write direction down.
    shut_down: fn(&S) -> io::Result<()>,
}

pub(crate) fn split<S>(
    stream: S,
    shut_down: fn(&S) -> io::Result<()>,
) -> (ReadHalf<S>, WriteHalf<S>) {
    let stream = Arc::new(stream);
    (ReadHalf(Arc::clone(&stream)), WriteHalf { stream, shut_down })
}

impl<S> AsRef<S> for ReadHalf<S> {
    fn as_ref(&self) -> &S {
        &self.0
    }
}

impl<S> AsRef<S> for WriteHalf<S> {
    fn as_ref(&self) -> &S {
        &self.stream
    }
}

impl<S> Drop for WriteHalf<S> {
    fn drop(&mut self) {
        // It fails only on an ended connection, which sends nothing more.
        let _ = (self.shut_down)(&self.stream);
    }
}

delegate_read! { [S] ReadHalf<S> where [for<'a> &'a S: AsyncRead]: half => *half.0 }
delegate_write! { [S] WriteHalf<S> where [for<'a> &'a S: AsyncWrite]: half => *half.stream }

impl<S: fmt::Debug> fmt::Debug for WriteHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriteHalf").field(&self.stream).finish()
    }
}
