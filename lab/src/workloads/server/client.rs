//! The other ends of the connections: what they ask, and what must come back.

use std::io::{self, Error, ErrorKind};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::load::Load;
#[cfg(feature = "full")]
use super::streams::{Streams, encrypt};
#[cfg(feature = "full")]
use super::wire::Protocol;
use super::wire::Wire;

/// A client with its connection.
pub(super) enum Client {
    /// One that writes all requests of a batch and reads all answers.
    Line(Line),
    /// One that has a stream of HTTP/2 for each request of a batch.
    #[cfg(feature = "full")]
    Streams(Streams),
}

impl Client {
    /// Opens the connection with this number. The first request over it comes after that.
    pub(super) async fn open(stream: TcpStream, load: &Load, number: u32) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let protocol = load.server.protocol;
        let stream: Box<dyn Stream> = match protocol {
            #[cfg(feature = "full")]
            Protocol::Http2 => return Streams::open(stream, number).await.map(Client::Streams),
            #[cfg(feature = "full")]
            Protocol::Https => Box::new(encrypt(stream, load.certificate.as_ref()).await?),
            _ => Box::new(stream),
        };
        Ok(Client::Line(Line { stream, wire: Wire::new(protocol, number), received: Vec::new() }))
    }

    /// Adds a request to the next batch.
    pub(super) fn ask(&mut self, number: u32) -> io::Result<()> {
        match self {
            Client::Line(line) => line.wire.ask(number),
            #[cfg(feature = "full")]
            Client::Streams(streams) => {
                streams.asked.push(number);
                Ok(())
            }
        }
    }

    /// Sends the batch, and returns when all answers are there.
    pub(super) async fn talk(&mut self) -> io::Result<()> {
        match self {
            Client::Line(line) => line.talk().await,
            #[cfg(feature = "full")]
            Client::Streams(streams) => streams.talk().await,
        }
    }

    /// Closes the connection; an error if something came after the last answer.
    pub(super) async fn end(self) -> io::Result<()> {
        match self {
            Client::Line(line) => line.end().await,
            #[cfg(feature = "full")]
            Client::Streams(streams) => streams.end().await,
        }
    }
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection on which answers come in the order of the requests.
pub(super) struct Line {
    /// The connection.
    stream: Box<dyn Stream>,
    /// What is said over it.
    wire: Wire,
    /// What has come and is not an answer yet.
    received: Vec<u8>,
}

impl Line {
    /// Writes all requests and reads all answers.
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

    /// Closes this end, after which nothing must come.
    async fn end(mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        match self.stream.read_buf(&mut self.received).await {
            Ok(0) => Ok(()),
            // A server need not say goodbye in TLS when its client has.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
            Ok(_) => Err(Error::new(ErrorKind::InvalidData, "an answer to nothing that was asked")),
            Err(error) => Err(error),
        }
    }
}
