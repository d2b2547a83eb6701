//! The streams of runtimes for hyper, with and without TLS.

use std::future::Future;
use std::io;
use std::sync::Arc;

use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;

/// A connection that hyper reads from and writes to.
pub(crate) trait Http: Read + Write + Unpin + Send + 'static {}

impl<S: Read + Write + Unpin + Send + 'static> Http for S {}

/// A TCP stream that hyper may have. The defaults are for targets on which no server of HTTP runs: hyper reads ahead, so one that blocks
/// never gets an answer.
pub(crate) trait Web: Sized + Send + 'static {
    /// Lets hyper read from this connection and write to it.
    fn http(self) -> impl Http {
        TokioIo::new(tokio::io::empty())
    }

    /// Does the server's part of a TLS handshake over this connection, and lets hyper read and write what is encrypted.
    fn secure(
        self,
        _config: Arc<ServerConfig>,
    ) -> impl Future<Output = io::Result<impl Http>> + Send {
        async { Ok(self.http()) }
    }
}
