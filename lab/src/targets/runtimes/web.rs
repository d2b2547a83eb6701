//! The streams of all runtimes for hyper, each as in the runtime's documentation, and rustls on the traits of each.

use std::io;
use std::sync::Arc;

use futures_lite::io::{AsyncRead, AsyncWrite};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use smol_hyper::rt::FuturesIo;

use crate::target::web::{Http, Web};

impl Web for brigade::io::TcpStream {
    fn http(self) -> impl Http {
        self
    }

    async fn secure(self, config: Arc<ServerConfig>) -> io::Result<impl Http> {
        encrypted(self, config).await
    }
}

impl Web for smol::Async<std::net::TcpStream> {
    fn http(self) -> impl Http {
        FuturesIo::new(self)
    }

    async fn secure(self, config: Arc<ServerConfig>) -> io::Result<impl Http> {
        encrypted(self, config).await
    }
}

/// Encrypts a stream with the traits of futures.
async fn encrypted<S>(stream: S, config: Arc<ServerConfig>) -> io::Result<impl Http>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    futures_rustls::TlsAcceptor::from(config).accept(stream).await.map(FuturesIo::new)
}

impl Web for tokio::net::TcpStream {
    fn http(self) -> impl Http {
        TokioIo::new(self)
    }

    async fn secure(self, config: Arc<ServerConfig>) -> io::Result<impl Http> {
        tokio_rustls::TlsAcceptor::from(config).accept(self).await.map(TokioIo::new)
    }
}

impl Web for std::net::TcpStream {}

#[cfg(target_os = "linux")]
impl Web for super::monoio::Local<monoio::net::TcpStream> {}
