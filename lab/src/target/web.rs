//! The streams of runtimes for hyper, with and without TLS.

use std::future::Future;
use std::io;
use std::sync::Arc;

use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;

/// A connection for hyper to read and write.
pub(crate) trait Http: Read + Write + Unpin + Send + 'static {}

impl<S: Read + Write + Unpin + Send + 'static> Http for S {}

/// A TCP stream for hyper. The defaults are for targets without an HTTP server: hyper reads ahead, so a blocking stream
/// never gets an answer.
pub(crate) trait Web: Sized + Send + 'static {
    /// Lets hyper read from this connection and write to it.
    fn http(self) -> impl Http {
        TokioIo::new(tokio::io::empty())
    }

    /// Does the server's part of a TLS handshake over this connection, and lets hyper read and write the encrypted data.
    fn secure(
        self,
        _config: Arc<ServerConfig>,
    ) -> impl Future<Output = io::Result<impl Http>> + Send {
        async { Ok(self.http()) }
    }
}
