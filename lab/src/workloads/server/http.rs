//! Servers of HTTP by hyper.

use std::convert::Infallible;
use std::future::{self, Future};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use hyper::body::Incoming;
use hyper::rt::{Executor, Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::tally::Tally;
use crate::target::runtime::Spawn;

/// Answers all requests of a connection with their paths.
pub(super) async fn one<S>(stream: S, connection: u32, tally: &'static Tally) -> io::Result<()>
where
    S: Read + Write + Unpin,
{
    let service = service_fn(answers(connection, tally));
    http1::Builder::new().serve_connection(stream, service).await.map_err(io::Error::other)
}

/// The same with HTTP/2.
pub(super) async fn two<S, E>(
    stream: S,
    connection: u32,
    spawner: Spawner<E>,
    tally: &'static Tally,
) -> io::Result<()>
where
    S: Read + Write + Unpin,
    E: Spawn,
{
    let service = service_fn(answers(connection, tally));
    http2::Builder::new(spawner).serve_connection(stream, service).await.map_err(io::Error::other)
}

/// The answer to a request over this connection: the path.
fn answers(
    connection: u32,
    tally: &'static Tally,
) -> impl Fn(Request<Incoming>) -> future::Ready<Result<Response<String>, Infallible>> {
    let served = AtomicU32::new(0);
    move |request| {
        tally.ran(connection, served.fetch_add(1, Ordering::Relaxed));
        future::ready(Ok(Response::new(request.uri().path().to_owned())))
    }
}

/// hyper's spawner for the streams of HTTP/2.
#[derive(Clone)]
pub(super) struct Spawner<S>(pub(super) S);

impl<S: Spawn, F: Future<Output = ()> + Send + 'static> Executor<F> for Spawner<S> {
    fn execute(&self, stream: F) {
        // An unserved stream has no answer, which the client reports.
        let _ = self.0.detach(stream);
    }
}
