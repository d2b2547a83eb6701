//! A server of axum on tokio, whose computations run beside tokio's runtime: on brigade, on rayon, and by `spawn_blocking`.
//!
//! While clients ask for computations, another client measures how long the server takes for a request that computes nothing. Of that
//! it prints the median and the 99th percentile. Then two things that a pool adds: a request that its client gives up cancels its
//! job, and a full pool is an answer with status 503: the extractor `Compute` does both, for any handler.
//!
//! ```sh
//! cargo run --release -p brigade-ecosystem --features full --example beside_tokio
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{FromRef, FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::get;
use brigade::{Handle, Pool, Reason, Shutdown};
use reqwest::Client;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

type Failure = Box<dyn Error + Send + Sync>;

/// How many numbers a request adds up, and how many requests of each kind there are, over how many connections.
const ITEMS: usize = if cfg!(debug_assertions) { 100_000 } else { 5_000_000 };
const REQUESTS: usize = 20;
const CONNECTIONS: usize = 4;

/// How long the searches may take to end.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct App {
    pool: Handle,
    rayon: Arc<rayon::ThreadPool>,
    /// A permit for each search that has begun.
    searches: Arc<Semaphore>,
}

impl FromRef<App> for Handle {
    fn from_ref(app: &App) -> Self {
        app.pool
    }
}

/// An extractor: computes on the pool, at most as long as the request lives.
struct Compute(Handle);

impl<S: Send + Sync> FromRequestParts<S> for Compute
where
    Handle: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(Handle::from_ref(state)))
    }
}

impl Compute {
    /// Runs a closure on a worker. If this future is dropped, so is the job, and a running closure is
    /// [cancelled](brigade::cancelled); if the pool is full, the request is refused.
    async fn run<T: Send + 'static>(
        self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StatusCode> {
        let job = self.0.try_submit(compute).map_err(|rejected| match rejected.reason() {
            Reason::Full => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        })?;
        job.cancel_on_drop().await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
    }
}

fn square(number: usize) -> u64 {
    (number as u64).pow(2) % 1009
}

/// On a worker of brigade.
async fn on_brigade(compute: Compute) -> Result<String, StatusCode> {
    let sum = || brigade::map_reduce(0..ITEMS, 4096, square, |a, b| a + b).unwrap_or(0);
    Ok(compute.run(sum).await?.to_string())
}

/// On a worker of rayon, with a channel for the result.
async fn on_rayon(State(app): State<App>) -> Result<String, StatusCode> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    let (result, sum) = oneshot::channel();
    app.rayon.spawn(move || _ = result.send((0..ITEMS).into_par_iter().map(square).sum::<u64>()));
    let sum = sum.await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(sum.to_string())
}

/// On one of tokio's threads for code that blocks.
async fn on_tokio() -> Result<String, StatusCode> {
    let sum = tokio::task::spawn_blocking(|| (0..ITEMS).map(square).sum::<u64>());
    let sum = sum.await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(sum.to_string())
}

/// Searches until the job is cancelled.
async fn search(
    State(app): State<App>,
    Path(number): Path<u64>,
    compute: Compute,
) -> Result<String, StatusCode> {
    let search = move || {
        app.searches.add_permits(1);
        (number..).find(|_| brigade::cancelled())
    };
    Ok(format!("{:?}", compute.run(search).await?))
}

async fn ask(
    client: &Client,
    from: SocketAddr,
    path: &str,
) -> Result<(StatusCode, String), Failure> {
    let answer = client.get(format!("http://{from}/{path}")).send().await?;
    Ok((answer.status(), answer.text().await?))
}

/// Has requests compute in this way; returns how long requests that compute nothing took meanwhile.
async fn measure(from: SocketAddr, path: &'static str) -> Result<Vec<Duration>, Failure> {
    let clients = [(); CONNECTIONS].map(|()| {
        tokio::spawn(async move {
            let (client, expected) = (Client::new(), (0..ITEMS).map(square).sum::<u64>());
            for _ in 0..REQUESTS {
                assert_eq!(ask(&client, from, path).await?, (StatusCode::OK, expected.to_string()));
            }
            Ok::<_, Failure>(())
        })
    });
    let (client, mut times) = (Client::new(), Vec::new());
    while times.is_empty() || !clients.iter().all(|client| client.is_finished()) {
        let begun = Instant::now();
        assert_eq!(ask(&client, from, "nothing").await?.1, "nothing");
        times.push(begun.elapsed());
    }
    for client in clients {
        client.await??;
    }
    times.sort();
    Ok(times)
}

async fn run(app: App) -> Result<(), Failure> {
    let routes = Router::new()
        .route("/nothing", get(async || "nothing"))
        .route("/brigade", get(on_brigade))
        .route("/rayon", get(on_rayon))
        .route("/spawn_blocking", get(on_tokio))
        .route("/search/{number}", get(search))
        .with_state(app.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, routes).await });

    println!(
        "a request that computes nothing, while {CONNECTIONS} clients have the server compute"
    );
    for path in ["brigade", "rayon", "spawn_blocking"] {
        let times = measure(server, path).await?;
        let [median, p99] = [50, 99].map(|percent| times[(times.len() - 1) * percent / 100]);
        println!("  {path:14} median {median:9.1?}   p99 {p99:9.1?}   of {}", times.len());
    }

    // A client that gives up cancels its job, which keeps a thread busy until then.
    let threads = *app.pool.size().end();
    let search =
        move |number| async move { ask(&Client::new(), server, &format!("search/{number}")).await };
    let searches: Vec<_> = (0..threads).map(|number| tokio::spawn(search(number))).collect();
    for _ in 0..threads {
        app.searches.acquire().await?.forget();
    }
    loop {
        while app.pool.try_execute(|| ()).is_ok() {}
        match ask(&Client::new(), server, "brigade").await?.0 {
            StatusCode::SERVICE_UNAVAILABLE => break,
            // A thread that took the place of a blocked one has made room.
            status => assert_eq!(status, StatusCode::OK),
        }
    }
    searches.iter().for_each(|search| search.abort());
    // Waits for room without blocking a thread.
    app.pool.job().reserve().await?.submit(|| ())?.await?;
    // Blocks the main thread, which serves no request.
    assert!(app.pool.wait_idle_timeout(LIMIT), "the searches have not ended in {LIMIT:?}");
    println!("{threads} searches ended when their clients had gone, and a full pool answered 503");
    Ok(())
}

/// How many jobs may wait.
const CAPACITY: usize = 64;

fn main() -> Result<(), Failure> {
    // A failure ends the searches too.
    let builder = Pool::builder().capacity(CAPACITY).name("compute").on_drop(Shutdown::Discard);
    let pool = builder.build()?;
    let rayon = rayon::ThreadPoolBuilder::new().build()?;
    let app =
        App { pool: pool.handle(), rayon: Arc::new(rayon), searches: Arc::new(Semaphore::new(0)) };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(app))
}
