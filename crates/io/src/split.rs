//! A connection in two halves, for two tasks.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_io::{AsyncRead, AsyncWrite};

/// The half of a connection that reads; made by the method `split` of `TcpStream` and `UnixStream`.
///
/// [`as_ref`](AsRef::as_ref) lends the whole connection. Dropping this half shuts nothing down: what arrives is left unread.
#[derive(Debug)]
pub struct ReadHalf<S>(Arc<S>);

/// The half of a connection that writes; made by the method `split` of `TcpStream` and `UnixStream`.
///
/// Closing or dropping this half shuts the write direction down: the other side reads the end after the last byte.
/// [`forget`](Self::forget) and [`reunite`](ReadHalf::reunite) leave it open. [`as_ref`](AsRef::as_ref) lends the whole connection.
pub struct WriteHalf<S> {
    stream: Arc<S>,
    /// Shuts the write direction down.
    shut_down: fn(&S) -> io::Result<()>,
    /// Whether the drop must shut the write direction down.
    ends_on_drop: bool,
}

pub(crate) fn split<S>(
    stream: S,
    shut_down: fn(&S) -> io::Result<()>,
) -> (ReadHalf<S>, WriteHalf<S>) {
    let stream = Arc::new(stream);
    (ReadHalf(Arc::clone(&stream)), WriteHalf { stream, shut_down, ends_on_drop: true })
}

impl<S> ReadHalf<S> {
    /// Puts the two halves of one connection together again.
    ///
    /// The write direction stays open.
    ///
    /// # Errors
    /// [`ReuniteError`] with both halves if they are of two connections.
    ///
    /// ```
    /// use brigade::io::UnixStream;
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt};
    /// brigade::block_on(async {
    ///     let (near, mut far) = UnixStream::pair()?;
    ///     let (reader, writer) = near.split();
    ///     let mut near = reader.reunite(writer)?;
    ///     near.write_all(b"x").await?;
    ///     assert_eq!(far.read(&mut [0]).await?, 1);
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reunite(self, writer: WriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.0, &writer.stream) {
            return Err(ReuniteError(self, writer));
        }
        writer.forget();
        Ok(Arc::into_inner(self.0).expect("the two halves have the only two references"))
    }
}

impl<S> WriteHalf<S> {
    /// Drops this half, and what is sent does not end. It ends with the connection.
    ///
    /// ```
    /// use brigade::io::UnixStream;
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt};
    /// brigade::block_on(async {
    ///     let (near, mut far) = UnixStream::pair()?;
    ///     let (reader, writer) = near.split();
    ///     writer.forget();
    ///     let mut near = reader.as_ref();
    ///     near.write_all(b"x").await?;
    ///     assert_eq!(far.read(&mut [0]).await?, 1);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn forget(mut self) {
        self.ends_on_drop = false;
    }
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
        if self.ends_on_drop {
            // It fails if the connection has ended, and with it what is sent.
            let _ = (self.shut_down)(&self.stream);
        }
    }
}

impl<S> AsyncRead for ReadHalf<S>
where
    for<'a> &'a S: AsyncRead,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.0).poll_read(context, buffer)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.0).poll_read_vectored(context, buffers)
    }
}

impl<S> AsyncWrite for WriteHalf<S>
where
    for<'a> &'a S: AsyncWrite,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.stream).poll_write_vectored(context, buffers)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut &*self.stream).poll_close(context);
        if let Poll::Ready(Ok(())) = closed {
            self.ends_on_drop = false;
        }
        closed
    }
}

impl<S: fmt::Debug> fmt::Debug for WriteHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriteHalf").field(&self.stream).finish()
    }
}

/// Two halves that are not of one connection; see [`ReadHalf::reunite`].
///
/// ```
/// use brigade::io::{ReuniteError, UnixStream};
/// brigade::block_on(async {
///     let ((one, _one), (other, _other)) = (UnixStream::pair()?, UnixStream::pair()?);
///     let ((reader, _), (_, writer)) = (one.split(), other.split());
///     let ReuniteError(_reader, _writer) = reader.reunite(writer).unwrap_err();
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct ReuniteError<S>(
    /// The half that reads.
    pub ReadHalf<S>,
    /// The half that writes.
    pub WriteHalf<S>,
);

impl<S> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the two halves are of different connections")
    }
}

impl<S: fmt::Debug> Error for ReuniteError<S> {}
