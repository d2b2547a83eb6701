//! A client of the service, on one connection.

use std::error::Error;
use std::net::SocketAddr;

use brigade::io::TcpStream;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{Method, Request, Response};

pub type Failure = Box<dyn Error + Send + Sync>;

/// A connection. Its requests take turns.
pub struct Client {
    server: SocketAddr,
    requests: SendRequest<Full<Bytes>>,
}

impl Client {
    /// Connects. Needs a worker of a pool, which then runs the connection.
    pub async fn connect(server: SocketAddr) -> Result<Self, Failure> {
        let (requests, connection) = handshake(TcpStream::connect(server).await?).await?;
        brigade::spawn(connection);
        Ok(Self { server, requests })
    }

    /// Sends a request, and returns the whole answer.
    pub async fn ask(
        &mut self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Bytes,
    ) -> Result<Response<Bytes>, Failure> {
        let request =
            Request::builder().method(method).uri(path).header(HOST, self.server.to_string());
        let request = match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        };
        self.requests.ready().await?;
        let answer = self.requests.send_request(request.body(Full::new(body))?).await?;
        let (head, body) = answer.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }
}
