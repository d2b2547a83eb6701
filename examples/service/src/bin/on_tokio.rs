//! The heart of the service on tokio, for the table of the README: `POST /jobs`, which answers with the result, and `GET /healthz`.
//!
//! The work and the files are the same. Priorities, deadlines, cancellation, the queue and the rest are left out.

use std::convert::Infallible;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use thumbnails::{client, files, work};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

#[derive(Parser)]
struct Settings {
    #[arg(long)]
    store: PathBuf,
    /// How many jobs may wait for a thread
    #[arg(long)]
    capacity: usize,
}

struct App {
    store: PathBuf,
    room: Arc<Semaphore>,
}

async fn answer(
    app: Arc<App>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match request.uri().path() {
        "/healthz" => (StatusCode::OK, "ok\n".into()),
        _ => match post(&app, request).await {
            Ok(answer) => answer,
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into()),
        },
    };
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    Ok(answer)
}

async fn post(
    app: &Arc<App>,
    request: Request<Incoming>,
) -> Result<(StatusCode, Bytes), client::Failure> {
    let image = Limited::new(request.into_body(), 8 << 20).collect().await?.to_bytes();
    let Ok(permit) = app.room.clone().try_acquire_owned() else {
        return Ok((StatusCode::TOO_MANY_REQUESTS, "full".into()));
    };
    let app = app.clone();
    let work = move || -> Result<Bytes, client::Failure> {
        let made = Bytes::from(serde_json::to_vec(&work::thumbnail(&image, 128)?)?);
        drop(permit);
        let id = uuid::Uuid::new_v4().simple().to_string();
        files::create(&app.store, &id, &made)?;
        Ok(made)
    };
    Ok((StatusCode::OK, spawn_blocking(work).await??))
}

fn main() -> Result<(), client::Failure> {
    let Settings { store, capacity } = Settings::parse();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let app = Arc::new(App { store, room: Arc::new(Semaphore::new(capacity + threads)) });
    // As many threads for the work as the pool of brigade has, and as many for the rest.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(threads)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening at http://{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            let app = app.clone();
            tokio::spawn(async move {
                let mut protocol = hyper::server::conn::http1::Builder::new();
                protocol.timer(TokioTimer::new());
                let answer = service_fn(|request| answer(app.clone(), request));
                _ = protocol.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    })
}
