//! An axum application on a pool, without tokio's runtime.
//!
//! An axum `Router` is a service of tower. hyper-util turns it into one of hyper, and hyper serves it over a
//! `brigade::io::TcpStream`. `axum::serve` does the same on tokio's sockets: see `beside_tokio`.
//!
//! ```sh
//! cargo run -p brigade-ecosystem --features full --example axum_server
//! ```

use std::error::Error;
use std::io;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode};
use axum::routing::get;
use axum::{Router, body::Body};
use brigade::io::{TcpListener, TcpStream};
use brigade::time::HyperTimer;
use brigade::{Handle, JoinError, Pool};
use hyper::{client, server};
use hyper_util::service::TowerToHyperService;

type Failure = Box<dyn Error + Send + Sync>;

/// Computes in a closure, so that no other request waits for it.
async fn fibonacci(State(pool): State<Handle>, Path(n): Path<u32>) -> Result<String, StatusCode> {
    if n > 90 {
        return Err(StatusCode::BAD_REQUEST);
    }
    let fib = move || (0..n).fold((0_u64, 1), |(a, b), _| (b, a + b)).0;
    let computed: Result<u64, JoinError> = pool.submit(fib).await;
    computed.map(|fib| fib.to_string()).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// Waits as a future of the pool does.
async fn slow() -> &'static str {
    brigade::time::sleep(Duration::from_millis(5)).await;
    "slow"
}

/// Serves each connection in a future of its own, forever.
async fn serve(listener: TcpListener, app: Router) -> io::Result<()> {
    let mut http = server::conn::http1::Builder::new();
    http.timer(HyperTimer).header_read_timeout(Duration::from_secs(60));
    loop {
        let (stream, from) = listener.accept().await?;
        let connection = http.serve_connection(stream, TowerToHyperService::new(app.clone()));
        brigade::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("{from}: {error}");
            }
        });
    }
}

/// Asks for several paths over one connection; returns a status and a text for each.
async fn ask(stream: TcpStream, paths: &[&str]) -> Result<Vec<(u16, String)>, Failure> {
    let (mut requests, connection) = client::conn::http1::handshake(stream).await?;
    let connection = brigade::spawn(connection);
    let mut answers = Vec::new();
    for &path in paths {
        let request = Request::get(path).header("host", "localhost").body(Body::empty())?;
        requests.ready().await?;
        let response = requests.send_request(request).await?;
        let status = response.status().as_u16();
        let body = to_bytes(Body::new(response.into_body()), 1024).await?;
        answers.push((status, String::from_utf8(body.to_vec())?));
    }
    drop(requests); // Ends the connection.
    connection.await??;
    Ok(answers)
}

fn main() -> Result<(), Failure> {
    let pool = Pool::new(2);
    let app = Router::new()
        .route("/", get(|| async { "bucket" }))
        .route("/slow", get(slow))
        .route("/fibonacci/{n}", get(fibonacci))
        .with_state(pool.handle());
    let answers = pool.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        let _server = brigade::spawn(serve(listener, app)).cancel_on_drop();
        ask(stream, &["/", "/slow", "/fibonacci/50", "/fibonacci/91", "/nowhere"]).await
    })?;
    let answers: Vec<_> = answers.iter().map(|(status, text)| (*status, text.as_str())).collect();
    let expected = [(200, "bucket"), (200, "slow"), (200, "12586269025"), (400, ""), (404, "")];
    assert_eq!(answers, expected);
    println!("axum answered on brigade's sockets and threads: {answers:?}");
    Ok(())
}
