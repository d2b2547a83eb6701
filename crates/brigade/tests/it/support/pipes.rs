//! A pipe; where brigade has none, two connected sockets.

#[cfg(unix)]
pub(crate) use brigade::io::{PipeReader, PipeWriter, pipe};
#[cfg(not(unix))]
pub(crate) use sockets::{PipeReader, PipeWriter, pipe};

#[cfg(not(unix))]
mod sockets {
    use std::io;
    use std::net;

    use brigade::io::TcpStream;

    pub(crate) type PipeReader = TcpStream;
    pub(crate) type PipeWriter = TcpStream;

    pub(crate) fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
        let listener = net::TcpListener::bind("127.0.0.1:0")?;
        let writer = net::TcpStream::connect(listener.local_addr()?)?;
        writer.set_nodelay(true)?;
        Ok((TcpStream::new(listener.accept()?.0)?, TcpStream::new(writer)?))
    }
}
