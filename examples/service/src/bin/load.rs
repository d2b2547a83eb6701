//! Loads the service, and the same on tokio; prints the table of the README.
//!
//! First clients that wait for their answers find how many jobs a server does in a second. Then requests come at half, 90 % and
//! 120 % of that, at random moments, whether or not earlier ones have been answered; each time is counted from the moment at
//! which the request was due. <https://www.scylladb.com/2021/04/22/on-coordinated-omission/>

use std::fs;
use std::io::{BufRead, BufReader, Cursor};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Pool, TaskSet};
use bytes::Bytes;
use clap::Parser;
use hyper::{Method, StatusCode};
use image::{ImageFormat, Rgb, RgbImage};
use thumbnails::client::{Client, Failure};

#[derive(Parser)]
struct Settings {
    /// The length of each measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many jobs may wait
    #[arg(long, default_value_t = 16)]
    capacity: usize,
    /// Of the images, in pixels
    #[arg(long, default_value_t = 1200)]
    side: u32,
}

/// The shares of what a server can do, in percent.
const LOADS: [u32; 3] = [50, 90, 120];

/// How often `/healthz` is asked for meanwhile.
const ASK: Duration = Duration::from_millis(20);

/// A server, until this is dropped.
struct Server(Child);

impl Server {
    fn start(program: &str, store: &Path, capacity: usize) -> Result<(Self, SocketAddr), Failure> {
        let mut command = Command::new(std::env::current_exe()?.with_file_name(program));
        command.arg("--store").arg(store).args(["--capacity", &capacity.to_string()]);
        if program == "thumbnails" {
            // As many connections as a queue without a limit needs.
            command.args(["--listen", "127.0.0.1:0", "--max-connections", "10000"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit('/').next().ok_or("no address")?.parse()?;
        Ok((Self(child), address))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What came of some requests: the times of those with a result, and how many were refused.
#[derive(Default)]
struct Times {
    served: Vec<Duration>,
    refused: usize,
}

impl Times {
    fn percentile(&mut self, percent: usize) -> Duration {
        self.served.sort();
        let last = self.served.len().saturating_sub(1);
        self.served.get(last * percent / 100).copied().unwrap_or_default()
    }
}

/// Posts an image on a connection, and waits for its thumbnail.
async fn post(client: &mut Client, image: &Bytes) -> Result<StatusCode, Failure> {
    let answer = client.ask(Method::POST, "/jobs?wait_ms=60000", None, image.clone()).await?;
    Ok(answer.status())
}

/// How many jobs a second a server does for clients that wait.
async fn capacity(server: SocketAddr, image: &Bytes, time: Duration) -> Result<f64, Failure> {
    let end = Instant::now() + time;
    let mut clients = TaskSet::default();
    for _ in 0..2 * thread::available_parallelism()?.get() {
        let image = image.clone();
        clients.spawn(async move {
            let (mut client, mut jobs) = (Client::connect(server).await?, 0);
            while Instant::now() < end {
                jobs += usize::from(post(&mut client, &image).await? == StatusCode::OK);
            }
            Ok::<_, Failure>(jobs)
        });
    }
    let mut jobs = 0;
    while let Some(done) = clients.join_next_async().await {
        jobs += done??;
    }
    Ok(jobs as f64 / time.as_secs_f64())
}

/// Sends requests at a rate. Returns their times, and those of requests that need no work.
async fn load(
    server: SocketAddr,
    image: &Bytes,
    rate: f64,
    time: Duration,
) -> Result<(Times, Times), Failure> {
    let times = Arc::new(Mutex::new(Times::default()));
    let idle: Arc<Mutex<Vec<Client>>> = Arc::default();
    let begun = Instant::now();
    let asking = brigade::spawn(async move {
        let (mut client, mut asked) = (Client::connect(server).await?, Times::default());
        while begun.elapsed() < time {
            let sent = Instant::now();
            client.ask(Method::GET, "/healthz", None, Bytes::new()).await?;
            asked.served.push(sent.elapsed());
            brigade::sleep(ASK).await;
        }
        Ok::<_, Failure>(asked)
    });
    let mut requests = TaskSet::default();
    let mut due = begun;
    while due < begun + time {
        brigade::time::sleep_until(due).await;
        let (times, idle, image) = (times.clone(), idle.clone(), image.clone());
        requests.spawn(async move {
            let kept = idle.lock().expect("not poisoned").pop();
            let mut client = match kept {
                Some(client) => client,
                None => Client::connect(server).await?,
            };
            let status = post(&mut client, &image).await?;
            let took = due.elapsed();
            idle.lock().expect("not poisoned").push(client);
            let mut times = times.lock().expect("not poisoned");
            match status {
                StatusCode::OK => times.served.push(took),
                StatusCode::TOO_MANY_REQUESTS => times.refused += 1,
                status => return Err(format!("status {status}").into()),
            }
            Ok::<_, Failure>(())
        });
        // The time to the next one of independent requests.
        due += Duration::from_secs_f64(-fastrand::f64().max(1e-9).ln() / rate);
    }
    while let Some(done) = requests.join_next_async().await {
        done??;
    }
    let asked = asking.await??;
    let times = std::mem::take(&mut *times.lock().expect("not poisoned"));
    Ok((times, asked))
}

/// A photograph as cameras make them: soft, with some noise.
fn image(side: u32) -> Result<Bytes, Failure> {
    let soft = |x: u32, y: u32, by: u32| (x * by / 4 + y / by) as u8 / 2 + fastrand::u8(..16);
    let image = RgbImage::from_fn(side, side, |x, y| Rgb([1, 2, 3].map(|by| soft(x, y, by))));
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Jpeg)?;
    Ok(file.into_inner().into())
}

fn millis(time: Duration) -> String {
    match time.as_secs_f64() * 1e3 {
        short if short < 10.0 => format!("{short:.1}"),
        long => format!("{long:.0}"),
    }
}

fn main() -> Result<(), Failure> {
    let settings = Settings::parse();
    let time = Duration::from_secs(settings.seconds);
    let (pool, image) = (Pool::new(1), image(settings.side)?);
    let store = std::env::temp_dir().join(format!("thumbnails-load-{}", std::process::id()));
    fs::create_dir_all(&store)?;
    // A queue without a limit is one that no load here fills.
    let bounds = [(settings.capacity, settings.capacity.to_string()), (1_000_000, "none".into())];
    let full = {
        let (_server, address) = Server::start("thumbnails", &store, settings.capacity)?;
        pool.block_on(capacity(address, &image, time))?
    };
    println!("100 % are {full:.0} jobs a second, of {} kB each", image.len() / 1000);
    println!("in each cell: the service, the same on tokio\n");
    println!("| queue | load | served/s | refused % | p50 ms | p99 ms | healthz p99 ms |");
    println!("|---|---|---|---|---|---|---|");
    for (bound, named) in bounds {
        for percent in LOADS {
            // A figure of each server in each column but the first two.
            let mut columns = vec![Vec::new(); 5];
            for program in ["thumbnails", "on_tokio"] {
                let (_server, address) = Server::start(program, &store, bound)?;
                let rate = full * f64::from(percent) / 100.0;
                let begun = Instant::now();
                let (mut times, mut asked) = pool.block_on(load(address, &image, rate, time))?;
                let served = times.served.len();
                let figures = [
                    format!("{:.0}", served as f64 / begun.elapsed().as_secs_f64()),
                    (100 * times.refused / (served + times.refused).max(1)).to_string(),
                    millis(times.percentile(50)),
                    millis(times.percentile(99)),
                    millis(asked.percentile(99)),
                ];
                columns.iter_mut().zip(figures).for_each(|(column, figure)| column.push(figure));
            }
            let columns: Vec<_> = columns.iter().map(|column| column.join(", ")).collect();
            println!("| {named} | {percent} % | {} |", columns.join(" | "));
        }
    }
    fs::remove_dir_all(store)?;
    Ok(())
}
