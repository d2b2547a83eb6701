//! The pipe of the operating system.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use brigade_sync::budget::Turn;
use futures_io::{AsyncRead, AsyncWrite};

use crate::asynchronous::Async;
use crate::driver::Driver;
use crate::kind::Kind;
use crate::stream::delegate_read;

/// Creates a pipe, whose ends belong to the pool of the thread.
///
/// # Errors
/// [`NoDriver`](crate::NoDriver), or the error of the system if it has no more file descriptors.
///
/// ```
/// use brigade::io::pipe;
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// brigade::block_on(async {
///     let (mut reader, mut writer) = pipe()?;
///     writer.write_all(b"bucket").await?;
///     let mut received = [0; 6];
///     reader.read_exact(&mut received).await?;
///     assert_eq!(&received, b"bucket");
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let driver = Driver::current()?;
    let (reader, writer) = closed_on_exec()?;
    let reader = Async::register(&driver, End(reader), Kind::PIPE)?;
    let writer = Async::register(&driver, End(writer), Kind::PIPE)?;
    Ok((PipeReader(reader), PipeWriter(Ok(writer))))
}

#[cfg(not(target_vendor = "apple"))]
fn closed_on_exec() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

#[cfg(target_vendor = "apple")]
fn closed_on_exec() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe()?;
    rustix::io::ioctl_fioclex(&reader)?;
    rustix::io::ioctl_fioclex(&writer)?;
    Ok((reader, writer))
}

/// An end of a pipe. Not a file of `std`: there reads and writes are cancellation points of the C library, which cost a
/// tenth of a read.
#[derive(Debug)]
struct End(OwnedFd);

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Read for &End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.0, buffer)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Ok(rustix::io::readv(&self.0, buffers)?)
    }
}

impl Write for &End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(&self.0, buffers)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The reading end of a [`pipe`].
///
/// Reads zero bytes when every writer is gone and the pipe is empty.
#[derive(Debug)]
pub struct PipeReader(Async<End>);

/// The writing end of a [`pipe`].
///
/// Writing fails with [`BrokenPipe`](io::ErrorKind::BrokenPipe) when the reader is gone. Closing it ends the pipe for the
/// reader, as dropping it does.
#[derive(Debug)]
pub struct PipeWriter(
    /// After the close, the turn of the operations.
    Result<Async<End>, Turn>,
);

impl PipeReader {
    /// Registers the reading end of a pipe with the pool of the thread.
    ///
    /// # Errors
    /// Those of [`Async::new`].
    pub fn from_fd(reader: OwnedFd) -> io::Result<Self> {
        Async::register(&Driver::current()?, End(reader), Kind::PIPE).map(Self)
    }

    /// Ends the registration and returns the file descriptor, still non-blocking.
    pub fn into_fd(self) -> OwnedFd {
        self.0.into_inner().0
    }
}

impl PipeWriter {
    /// Registers the writing end of a pipe with the pool of the thread.
    ///
    /// # Errors
    /// Those of [`Async::new`].
    pub fn from_fd(writer: OwnedFd) -> io::Result<Self> {
        let writer = Async::register(&Driver::current()?, End(writer), Kind::PIPE)?;
        Ok(Self(Ok(writer)))
    }

    /// Ends the registration and returns the file descriptor, still non-blocking; `None` if it has been closed.
    pub fn into_fd(self) -> Option<OwnedFd> {
        self.0.ok().map(|writer| writer.into_inner().0)
    }

    fn poll_open(&mut self, context: &Context<'_>) -> Poll<io::Result<Pin<&mut Async<End>>>> {
        match &mut self.0 {
            Ok(writer) => Poll::Ready(Ok(Pin::new(writer))),
            Err(turn) => turn.poll_ready(context).map(|()| Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsFd for PipeReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}

delegate_read! { [] PipeReader where []: this => this.0 }

impl AsyncWrite for PipeWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write_vectored(context, buffers)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is buffered, so it can't fail.
        match ready!(self.poll_open(context)) {
            Ok(writer) => writer.poll_flush(context),
            Err(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        self.0 = Err(Turn::default());
        Poll::Ready(Ok(()))
    }
}
