//! The other ends of the connections: what they ask, and what must come back.

use std::io::{self, Error, ErrorKind};
use std::sync::Arc;

use h2::client::{Connection, SendRequest};
use hyper::Request;
use hyper::body::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::secure;
use super::wire::{Protocol, Wire};

/// A client with its connection.
pub(super) enum Client {
    /// One that writes all requests of a batch and reads all answers.
    Line(Line),
    /// One that has a stream of HTTP/2 for each request of a batch.
    Streams(Streams),
}

impl Client {
    /// Opens the connection with this number. The first request over it comes after that.
    pub(super) async fn open(
        stream: TcpStream,
        protocol: Protocol,
        number: u32,
        trusted: Option<Arc<ClientConfig>>,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        if protocol == Protocol::Http2 {
            return Streams::open(stream, number).await.map(Client::Streams);
        }
        let stream: Box<dyn Stream> = match trusted {
            Some(config) => {
                let name = ServerName::try_from(secure::NAME).map_err(Error::other)?;
                Box::new(TlsConnector::from(config).connect(name, stream).await?)
            }
            None => Box::new(stream),
        };
        Ok(Client::Line(Line { stream, wire: Wire::new(protocol, number), received: Vec::new() }))
    }

    /// Adds a request to the next batch.
    pub(super) fn ask(&mut self, number: u32) -> io::Result<()> {
        match self {
            Client::Line(line) => line.wire.ask(number),
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
            Client::Streams(streams) => streams.talk().await,
        }
    }

    /// Closes the connection; an error if something came after the last answer.
    pub(super) async fn end(self) -> io::Result<()> {
        match self {
            Client::Line(line) => line.end().await,
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

/// A connection of HTTP/2.
pub(super) struct Streams {
    /// Its number.
    number: u32,
    /// Opens streams.
    sender: SendRequest<Bytes>,
    /// Reads and writes for all streams.
    connection: JoinHandle<Result<(), h2::Error>>,
    /// The requests of the next batch.
    asked: Vec<u32>,
}

impl Streams {
    /// Makes the first handshake, which needs no answer.
    async fn open(stream: TcpStream, number: u32) -> io::Result<Self> {
        let (sender, connection): (_, Connection<TcpStream>) =
            h2::client::handshake(stream).await.map_err(Error::other)?;
        let connection = tokio::spawn(connection);
        Ok(Streams { number, sender, connection, asked: Vec::new() })
    }

    /// Opens a stream for each request, and waits for all answers.
    async fn talk(&mut self) -> io::Result<()> {
        let mut answers = Vec::with_capacity(self.asked.len());
        for number in self.asked.drain(..) {
            let path = format!("/{}/{number}", self.number);
            let request = Request::get(format!("http://{}{path}", secure::NAME)).body(());
            // Waits until the connection has room for one more.
            self.sender = self.sender.clone().ready().await.map_err(Error::other)?;
            let request = request.map_err(Error::other)?;
            let (answer, _) = self.sender.send_request(request, true).map_err(Error::other)?;
            answers.push((path, answer));
        }
        for (path, answer) in answers {
            let answer = answer.await.map_err(Error::other)?;
            let status = answer.status();
            let (mut body, mut said) = (answer.into_body(), Vec::new());
            while let Some(piece) = body.data().await {
                let piece = piece.map_err(Error::other)?;
                body.flow_control().release_capacity(piece.len()).map_err(Error::other)?;
                said.extend_from_slice(&piece);
            }
            if status != 200 || said != path.as_bytes() {
                return Err(Error::new(
                    ErrorKind::InvalidData,
                    "an answer to nothing that was asked",
                ));
            }
        }
        Ok(())
    }

    /// Says goodbye. A stream that was never opened would be an error of the connection.
    async fn end(self) -> io::Result<()> {
        drop(self.sender);
        self.connection.await?.map_err(Error::other)
    }
}
