//! The client's end of a connection of HTTP/2, and of an encrypted connection.

use std::io::{self, Error, ErrorKind};

use h2::client::{Connection, SendRequest};
use hyper::Request;
use hyper::body::Bytes;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::client::Client;
use super::load::Load;
use super::secure::{self, Certificate};

/// Encrypts a connection to a server with this certificate.
pub(super) async fn encrypt(
    stream: TcpStream,
    certificate: Option<&Certificate>,
) -> io::Result<TlsStream<TcpStream>> {
    let trusted = secure::client(certificate)?;
    let name = ServerName::try_from(secure::NAME).map_err(Error::other)?;
    TlsConnector::from(trusted).connect(name, stream).await
}

/// A client with a stream of HTTP/2 for each request of a batch.
pub(super) struct Streams {
    /// The number of the client.
    number: u32,
    /// Opens streams.
    sender: SendRequest<Bytes>,
    /// Reads and writes for all streams.
    connection: JoinHandle<Result<(), h2::Error>>,
    /// The requests of the next batch.
    asked: Vec<u32>,
}

impl Client for Streams {
    async fn open(stream: TcpStream, _: &Load, number: u32) -> io::Result<Self> {
        // The first handshake needs no answer.
        let (sender, connection): (_, Connection<TcpStream>) =
            h2::client::handshake(stream).await.map_err(Error::other)?;
        let connection = tokio::spawn(connection);
        Ok(Streams { number, sender, connection, asked: Vec::new() })
    }

    fn ask(&mut self, number: u32) -> io::Result<()> {
        self.asked.push(number);
        Ok(())
    }

    async fn talk(&mut self) -> io::Result<()> {
        let mut answers = Vec::with_capacity(self.asked.len());
        for number in self.asked.drain(..) {
            let path = format!("/{}/{number}", self.number);
            let request = Request::get(format!("http://{}{path}", secure::NAME)).body(());
            // Waits until the connection has room for another stream.
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

    async fn end(self) -> io::Result<()> {
        // An unopened stream would be an error of the connection.
        drop(self.sender);
        self.connection.await?.map_err(Error::other)
    }
}
