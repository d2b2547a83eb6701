//! reqwest on a pool, which asks a server on the same pool.
//!
//! reqwest looks for tokio's runtime. `async_compat::Compat` around the future makes one visible: its reactor runs on a thread of
//! its own, and the pool polls the future. The server needs none: its sockets are the pool's.
//!
//! ```sh
//! cargo run -p brigade-ecosystem --features full --example reqwest_client
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::time::Duration;

use async_compat::Compat;
use brigade::io::TcpListener;
use brigade::{Pool, TaskSet};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, server};

type Failure = Box<dyn Error + Send + Sync>;

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(format!("you asked for {}", request.uri().path())))
}

/// Serves each connection in a future of its own, forever.
async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, from) = listener.accept().await?;
        let http = server::conn::http1::Builder::new();
        let connection = http.serve_connection(stream, service_fn(answer));
        brigade::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("{from}: {error}");
            }
        });
    }
}

/// Code that knows nothing of brigade.
async fn get(client: reqwest::Client, url: String) -> reqwest::Result<String> {
    client.get(url).send().await?.error_for_status()?.text().await
}

fn main() -> Result<(), Failure> {
    let pool = Pool::new(2);
    let (listener, address) = pool.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        io::Result::Ok((listener, address))
    })?;
    let _server = pool.spawn(serve(listener)).cancel_on_drop();

    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build()?;
    let mut pages = TaskSet::new(&pool).limit(3);
    for page in 1..=10 {
        let url = format!("http://{address}/{page}");
        pages.spawn(Compat::new(get(client.clone(), url)));
    }
    // The first `?` is for a task that panicked, the second for a request that failed.
    let mut texts = pages.outcomes().map(|text| Ok(text??)).collect::<Result<Vec<_>, Failure>>()?;
    texts.sort();
    let mut expected: Vec<_> = (1..=10).map(|page| format!("you asked for /{page}")).collect();
    expected.sort();
    assert_eq!(texts, expected);
    println!("reqwest got {} pages on brigade's threads, the first: {}", texts.len(), texts[0]);
    Ok(())
}
