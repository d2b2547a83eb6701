//! A service that makes thumbnails, on brigade: see its README.
//!
//! Three pools: `web` has the connections, which wait most of the time; `work` computes, and has a capacity; `files` reads and
//! writes. So a request is answered, if only by a refusal, while all threads of the other pools are busy.

mod config;
mod events;
mod http;
mod jobs;
mod queue;
mod service;
mod store;

use std::error::Error;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_compat::CompatExt;
use brigade::io::{Async, TcpListener, TcpStream};
use brigade::time::HyperTimer;
use brigade::{MetricsExporter, Pool, Queueing, Shutdown, WhenFull};
use futures_lite::{AsyncReadExt, future};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use metrics_exporter_prometheus::PrometheusBuilder;
use signal_hook::consts::{SIGINT, SIGTERM};
use socket2::SockRef;
use tokio::sync::Semaphore;
use tracing::{Instrument, info, info_span, warn};

use config::Settings;
use http::Http;
use queue::{Failure, Queue};
use service::{Service, Stage};
use store::Store;

/// How often the page's counts change.
const TELL: Duration = Duration::from_millis(500);

/// How long the end waits for what has been cancelled.
const LAST: Duration = Duration::from_secs(1);

/// The bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

fn main() -> ExitCode {
    let run = || -> Result<bool, Failure> { run(Settings::read()?) };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("thumbnails: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal. Returns whether each accepted job has a result, or is in the queue.
fn run(settings: Settings) -> Result<bool, Failure> {
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let prometheus = PrometheusBuilder::new().set_buckets(&BUCKETS)?.install_recorder()?;

    let web = Pool::builder().pool_name("web").name("web").threads(2).build()?;
    let work = Pool::builder().pool_name("work").name("work").queueing(Queueing::Shared);
    let work = work.capacity(settings.capacity).when_full(WhenFull::Reject);
    let work = match settings.threads {
        0 => work,
        threads => work.threads(threads),
    };
    let stalled = |stall: &brigade::Stall| warn!("{stall}");
    let work = work.trace_jobs().on_stall(Duration::from_millis(settings.stall_ms), stalled);
    let work = work.build()?;

    // Files block their threads, and wait for a disk.
    let files = Pool::builder().pool_name("files").name("files").threads(4).build()?;

    let (queue, store) = match settings.queue.as_str() {
        "" => (None, Store::folder(settings.store.clone(), files.handle())?),
        _ => {
            let (queue, store) = web.block_on(Queue::connect(&settings).compat())?;
            (Some(queue), store)
        }
    };
    let (grace, listen) = (settings.grace(), settings.listen);
    let service = Service::new(settings, web.handle(), work.handle(), store, queue);
    let exporters: Vec<_> = [&web, &work, &files].into_iter().map(MetricsExporter::new).collect();
    exporters.iter().for_each(MetricsExporter::describe);
    let http = Http { service: service.clone(), exporters, prometheus };

    let (told, teller) = (service.clone(), web.job().every(TELL));
    let teller = teller.execute(move || told.tell_of_queue())?;
    let (signal, taker) = (signal()?, service.clone());
    web.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        web.spawn(async move {
            if let Some(queue) = &taker.queue {
                queue.take(&taker).await;
            }
        });
        // The tests, and whoever asked for any free port, read this line.
        println!("listening at http://{}", listener.local_addr()?);
        future::or(stopped(signal), accept(listener, Arc::new(http))).await
    })?;

    // No new jobs; those that were accepted end, as far as the time goes. Then the answers and results that wait for them.
    info!("ending");
    service.enter(Stage::Ending);
    let by = Instant::now() + grace;
    teller.cancel();
    let left = || by.saturating_duration_since(Instant::now());
    let mut report = work.shutdown(Shutdown::Finish.timeout(left()));
    if report.still_running > 0 {
        // Running jobs are asked to stop.
        report = work.shutdown(Shutdown::Discard.timeout(LAST));
    }
    let rest = web.shutdown(Shutdown::Finish.timeout(left()));
    service.enter(Stage::GivenUp);
    if rest.still_running > 0 {
        web.shutdown(Shutdown::Finish.timeout(LAST));
    }
    files.shutdown(Shutdown::Discard.timeout(LAST));
    let without = service.table.len();
    println!(
        "ended: {:?}, {} discarded, {without} without a result",
        service.ends(),
        report.discarded
    );
    Ok(without == 0)
}

/// A socket that is readable once the process is asked to end.
fn signal() -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

async fn stopped(signal: UnixStream) -> io::Result<()> {
    Async::new(signal)?.read_exact(&mut [0]).await
}

/// Accepts connections, as many at a time as the settings say; the others wait in the kernel.
async fn accept(listener: TcpListener, http: Arc<Http>) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(http.service.settings.max_connections));
    loop {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Such as too many open files: that passes.
                warn!(%error, "can't accept a connection");
                brigade::sleep(TELL).await;
                continue;
            }
        };
        // A client that reads nothing for this long has gone, as has a client that sends nothing (`serve`).
        let time = http.service.settings.client_time();
        if let Err(error) = SockRef::from(&stream).set_tcp_user_timeout(Some(time)) {
            warn!(%error, "no limit for slow readers");
        }
        let connection = serve(stream, http.clone());
        let connection = async move {
            if let Err(error) = connection.await {
                info!(error = &error as &dyn Error, "a connection failed");
            }
            drop(place);
        };
        brigade::spawn(connection.instrument(info_span!("connection", %from)));
    }
}

/// Answers the requests of a connection; at the service's end, the last one of them.
async fn serve(stream: TcpStream, http: Arc<Http>) -> hyper::Result<()> {
    let end = http.service.until(Stage::Ending);
    let mut protocol = http1::Builder::new();
    protocol.timer(HyperTimer).header_read_timeout(http.service.settings.client_time());
    let answer = service_fn(move |request| {
        let span = info_span!("request", method = %request.method(), uri = %request.uri());
        http.clone().answer(request).instrument(span)
    });
    let mut connection = std::pin::pin!(protocol.serve_connection(stream, answer));
    let ends = async {
        end.await;
        None
    };
    match future::or(async { Some(connection.as_mut().await) }, ends).await {
        Some(outcome) => outcome,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}
