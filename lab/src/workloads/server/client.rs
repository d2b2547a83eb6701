//! The other ends of the connections: their requests, and the expected answers.

use std::future::Future;
use std::io::{self, Error, ErrorKind};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::load::Load;
#[cfg(feature = "full")]
use super::streams::encrypt;
#[cfg(feature = "full")]
use super::wire::Protocol;
use super::wire::Wire;

/// A client with a connection.
pub(super) trait Client: Sized + Send + 'static {
    /// Opens the connection with this number. The first request over it comes later.
    fn open(
        stream: TcpStream,
        load: &Load,
        number: u32,
    ) -> impl Future<Output = io::Result<Self>> + Send;

    /// Adds a request to the next batch.
    fn ask(&mut self, number: u32) -> io::Result<()>;

    /// Sends the batch, and returns when all answers are there.
    fn talk(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Closes the connection; an error if something came after the last answer.
    fn end(self) -> impl Future<Output = io::Result<()>> + Send;
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A client that writes all requests of a batch and reads all answers, in the order of the requests.
pub(super) struct Line {
    /// The connection.
    stream: Box<dyn Stream>,
    /// The conversation over it.
    wire: Wire,
    /// Received bytes of an incomplete answer.
    received: Vec<u8>,
}

impl Client for Line {
    async fn open(stream: TcpStream, load: &Load, number: u32) -> io::Result<Self> {
        let protocol = load.server.protocol;
        let stream: Box<dyn Stream> = match protocol {
            #[cfg(feature = "full")]
            Protocol::Https => Box::new(encrypt(stream, load.certificate.as_ref()).await?),
            _ => Box::new(stream),
        };
        Ok(Line { stream, wire: Wire::new(protocol, number), received: Vec::new() })
    }

    fn ask(&mut self, number: u32) -> io::Result<()> {
        self.wire.ask(number)
    }

    async fn talk(&mut self) -> io::Result<()> {
        if self.wire.requests.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.wire.requests).await?;
        self.stream.flush().await?;
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "a connection was closed"));
            }
            if self.wire.answered(&self.received)? {
                self.received.clear();
                return Ok(());
            }
        }
    }

    async fn end(mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        match self.stream.read_buf(&mut self.received).await {
            Ok(0) => Ok(()),
            // A server need not say goodbye in TLS when the client has.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            Ok(_) => Err(Error::new(ErrorKind::InvalidData, "an answer to nothing that was asked")),
            Err(error) => Err(error),
        }
    }
}
