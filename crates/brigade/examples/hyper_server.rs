//! A server for HTTP on a pool, and a client that sends it requests.
//!
//! Sockets, tasks and timers belong to the pool. The features `io` and `hyper` enable that: hyper reads and writes a
//! `brigade::io::TcpStream`, and `HyperTimer` is its timer. (HTTP/2 also needs an executor, which a `Handle` is.)
//!
//! ```sh
//! cargo run --features hyper,io --example hyper_server
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use brigade::Pool;
use brigade::io::{TcpListener, TcpStream};
use brigade::time::HyperTimer;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};

type Failure = Box<dyn Error + Send + Sync>;

/// Says what was asked for.
async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(format!("you asked for {}", request.uri().path())))
}

/// Serves each connection in a future of its own, forever.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let mut http = server::conn::http1::Builder::new();
    http.timer(HyperTimer).header_read_timeout(Duration::from_secs(60));
    loop {
        let (stream, from) = listener.accept().await?;
        let connection = http.serve_connection(stream, service_fn(answer));
        brigade::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("{from}: {error}");
            }
        });
    }
}

/// What the server at the other end has at `path`.
async fn get(stream: TcpStream, path: &str) -> Result<String, Failure> {
    let (mut requests, connection) = client::conn::http1::handshake(stream).await?;
    let connection = brigade::spawn(connection);
    let request = Request::get(path).header("host", "localhost").body(String::new())?;
    let mut body = requests.send_request(request).await?.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes.extend(frame?.into_data().unwrap_or_default());
    }
    drop(requests); // Ends the connection.
    connection.await??;
    Ok(String::from_utf8(bytes)?)
}

fn main() -> Result<(), Failure> {
    let pool = Pool::new(2);
    let text = pool.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        // Cancelled with the handle, when there is nothing more to ask.
        let _server = brigade::spawn(serve(listener)).cancel_on_drop();
        get(TcpStream::connect(address).await?, "/bucket").await
    })?;
    assert_eq!(text, "you asked for /bucket");
    println!("hyper's protocol, brigade's sockets and threads");
    Ok(())
}
