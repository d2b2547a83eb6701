//! A server for HTTP on a pool, and a client that asks it.
//!
//! Sockets, tasks and time are the pool's, by what the features `io` and `hyper` enable: `brigade::io::TcpStream` is
//! read and written by hyper, a `Handle` is its executor, `HyperTimer` its clock.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use brigade::io::{TcpListener, TcpStream};
use brigade::time::HyperTimer;
use brigade::{Handle, Pool};
use hyper::body::{Body, Incoming};
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};

type Failure = Box<dyn Error + Send + Sync>;

/// Says what was asked for.
async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(format!("you asked for {}", request.uri().path())))
}

/// Serves each connection in a future of its own, for ever.
async fn serve(listener: TcpListener, pool: Handle) -> std::io::Result<()> {
    let mut http = server::conn::http1::Builder::new();
    http.timer(HyperTimer).header_read_timeout(Duration::from_secs(5));
    loop {
        let (stream, _) = listener.accept().await?;
        let connection = http.serve_connection(stream, service_fn(answer));
        // The trait's `execute`, which takes futures; the handle's own takes closures.
        Executor::execute(&pool, async { drop(connection.await) });
    }
}

/// What the server at the other end has at `path`.
async fn get(stream: TcpStream, path: &str, pool: Handle) -> Result<String, Failure> {
    let (mut requests, connection) = client::conn::http1::handshake(stream).await?;
    Executor::execute(&pool, async { drop(connection.await) });
    let request = Request::get(path).header("host", "localhost").body(String::new())?;
    let mut body = requests.send_request(request).await?.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes.extend(frame?.into_data().unwrap_or_default());
    }
    Ok(String::from_utf8(bytes)?)
}

fn main() {
    let pool = Pool::new(2);
    let handle = pool.handle();
    let client = pool.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        // Cancelled with the handle, when there is nothing more to ask.
        let _server = handle.try_spawn(serve(listener, handle))?.cancel_on_drop();
        get(TcpStream::connect(address).await?, "/bucket", handle).await
    });
    assert_eq!(client.join().unwrap().unwrap(), "you asked for /bucket");
    println!("hyper's protocol, brigade's sockets and threads");
}
