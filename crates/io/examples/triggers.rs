//! Level, edge or oneshot: pipes in a ring and TCP echoes, on one thread and on two that drive in turn.
//!
//! `cargo run --release -p brigade-io --example triggers -- 11`: so many rounds, each of every trigger, in an order that
//! moves on; the medians as a table of Markdown, each with the CPU time of the process behind a slash, which says more when
//! others use the machine. Words after the number choose rows: `-- 11 pipe` those with pipes.

#![allow(clippy::disallowed_types, reason = "an example stands outside every loom model")]

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

use async_task::Runnable;
use brigade_io::{Driver, TcpListener, TcpStream, Trigger, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

/// What the threads share: one queue, and one driver for whoever finds it empty.
struct Crew {
    driver: Arc<Driver>,
    queue: Mutex<VecDeque<Runnable>>,
    /// Threads that wait for the queue, as another one drives.
    sleepers: AtomicUsize,
    filled: Condvar,
    done: AtomicBool,
}

impl Crew {
    fn new(trigger: Trigger) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            driver: Driver::with_trigger(trigger)?,
            queue: Mutex::default(),
            sleepers: AtomicUsize::new(0),
            filled: Condvar::new(),
            done: AtomicBool::new(false),
        }))
    }

    fn push(&self, runnable: Runnable) {
        self.queue.lock().unwrap().push_back(runnable);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            self.filled.notify_one();
        }
    }

    fn pop(&self) -> Option<Runnable> {
        self.queue.lock().unwrap().pop_front()
    }

    fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let crew = Arc::clone(self);
        let (runnable, task) = async_task::spawn(future, move |runnable| crew.push(runnable));
        runnable.schedule();
        task.detach();
    }

    /// What each thread does until the end.
    fn work(&self) {
        while !self.done.load(Ordering::SeqCst) {
            if let Some(runnable) = self.pop() {
                runnable.run();
            } else if self.driver.drive(None, &mut Waker::wake).is_err() {
                self.sleep();
            }
        }
    }

    fn sleep(&self) {
        let mut queue = self.queue.lock().unwrap();
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Not for ever: the one that drove may have gone on to run a task.
        while queue.is_empty() && self.driver.is_driven() && !self.done.load(Ordering::SeqCst) {
            let rest = Duration::from_micros(500);
            queue = self.filled.wait_timeout(queue, rest).unwrap().0;
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.done.store(true, Ordering::SeqCst);
        self.filled.notify_all();
        self.driver.notify();
    }

    /// Runs what was spawned on so many threads, until it ends itself.
    fn run(&self, threads: usize) -> Cost {
        let (begun, used) = (Instant::now(), cpu_time());
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(|| self.work())));
            self.work();
        });
        let cost = Cost { wall: begun.elapsed(), cpu: cpu_time() - used };
        // Servers whose clients have gone see the end and close their files.
        while self.driver.sources() > 0 {
            while let Some(runnable) = self.pop() {
                runnable.run();
            }
            self.driver.drive(Some(Duration::ZERO), &mut Waker::wake).expect("nobody else drives");
        }
        cost
    }
}

/// What a run took.
struct Cost {
    wall: Duration,
    /// Of all threads.
    cpu: Duration,
}

impl Cost {
    /// Microseconds of both, for each of so many hops or requests.
    fn each(&self, times: usize) -> [f64; 2] {
        [self.wall, self.cpu].map(|time| time.as_secs_f64() * 1e6 / times as f64)
    }
}

/// What this process has used until now.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.try_into().expect("it is not negative")
}

/// A byte goes round a ring of pipes; what a hop takes.
fn ring(trigger: Trigger, threads: usize, pipes: usize) -> io::Result<[f64; 2]> {
    let rounds = (20_000 / pipes).max(10);
    let crew = Crew::new(trigger)?;
    let made: io::Result<Vec<_>> = crew.driver.enter(|| (0..pipes).map(|_| pipe()).collect());
    let (readers, mut writers): (Vec<_>, Vec<_>) = made?.into_iter().unzip();
    writers.rotate_left(1);
    for (stage, (mut reader, mut writer)) in readers.into_iter().zip(writers).enumerate() {
        let end = Arc::clone(&crew);
        crew.spawn(async move {
            let mut buffer = [0; 16];
            for _ in 0..rounds {
                if stage == 0 {
                    writer.write_all(b"x").await.expect("its reader is there");
                }
                let length = reader.read(&mut buffer).await.expect("its writer is there");
                if stage != 0 {
                    writer.write_all(&buffer[..length]).await.expect("its reader is there");
                }
            }
            if stage == 0 {
                end.end();
            }
        });
    }
    Ok(crew.run(threads).each(rounds * pipes))
}

/// Clients send `size` bytes and wait for them to come back; what a request takes.
fn echo(trigger: Trigger, threads: usize, connections: usize, size: usize) -> io::Result<[f64; 2]> {
    let requests = (20_000 / connections).max(5);
    let crew = Crew::new(trigger)?;
    let left = Arc::new(AtomicUsize::new(connections));
    for _ in 0..connections {
        let (mut client, mut server) = connected(&crew.driver)?;
        crew.spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            loop {
                match server.read(&mut buffer).await {
                    Ok(length) if length > 0 => match server.write_all(&buffer[..length]).await {
                        Ok(()) => {}
                        Err(_) => return,
                    },
                    _ => return,
                }
            }
        });
        let (left, end) = (Arc::clone(&left), Arc::clone(&crew));
        crew.spawn(async move {
            let mut buffer = vec![7; size];
            for _ in 0..requests {
                client.write_all(&buffer).await.expect("the server is there");
                client.read_exact(&mut buffer).await.expect("the server is there");
            }
            if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                end.end();
            }
        });
    }
    Ok(crew.run(threads).each(requests * connections))
}

fn connected(driver: &Arc<Driver>) -> io::Result<(TcpStream, TcpStream)> {
    let listener = driver.enter(|| TcpListener::bind(([127, 0, 0, 1], 0)))?;
    let address = listener.get_ref().local_addr()?;
    // Over loopback both are there at once, so nobody has to wait for the driver.
    let client = std::net::TcpStream::connect(address)?;
    client.set_nodelay(true)?;
    let (server, _) = future::block_on(listener.accept())?;
    server.get_ref().set_nodelay(true)?;
    Ok((TcpStream::with_driver(driver, client)?, server))
}

type Workload = fn(Trigger, usize) -> io::Result<[f64; 2]>;

/// Name, and what is measured.
const ROWS: [(&str, Workload); 7] = [
    ("pipes: 2, a hop", |trigger, threads| ring(trigger, threads, 2)),
    ("pipes: 500, a hop", |trigger, threads| ring(trigger, threads, 500)),
    ("TCP: 1 connection, 1 byte", |trigger, threads| echo(trigger, threads, 1, 1)),
    ("TCP: 64 connections, 1 byte", |trigger, threads| echo(trigger, threads, 64, 1)),
    ("TCP: 64, 4 KiB", |trigger, threads| echo(trigger, threads, 64, 4096)),
    ("TCP: 64, 64 KiB", |trigger, threads| echo(trigger, threads, 64, 65_536)),
    ("TCP: 1,000, 1 byte", |trigger, threads| echo(trigger, threads, 1000, 1)),
];

/// Of each of the two.
fn medians(measured: &[[f64; 2]]) -> String {
    let median = |which: usize| {
        let mut values: Vec<_> = measured.iter().map(|pair| pair[which]).collect();
        values.sort_by(f64::total_cmp);
        format!("{:.2}", values[values.len() / 2])
    };
    [median(0), median(1)].join(" / ")
}

fn main() -> io::Result<()> {
    let triggers = [Trigger::Level, Trigger::Edge, Trigger::Oneshot];
    let mut words = std::env::args().skip(1);
    let rounds = words.next().and_then(|number| number.parse().ok()).unwrap_or(11);
    let chosen: Vec<_> = words.collect();
    println!("| µs / of CPU | threads | `Level` | `Edge` | `Oneshot` |\n|---|---|---|---|---|");
    for (name, workload) in ROWS {
        if !chosen.is_empty() && !chosen.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        for threads in [1, 2] {
            let mut measured = [const { Vec::new() }; 3];
            for round in 0..rounds {
                for place in 0..3 {
                    let which = (round + place) % 3;
                    measured[which].push(workload(triggers[which], threads)?);
                }
            }
            let cells = measured.map(|pairs| medians(&pairs)).join(" | ");
            println!("| {name} | {threads} | {cells} |");
        }
    }
    Ok(())
}
