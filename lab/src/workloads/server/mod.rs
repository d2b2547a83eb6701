//! Servers for HTTP/1 and for RESP over TCP, with their clients in another process.
//!
//! A connection is one task of the target. The connections exist before anything is timed, and each has had its first answers.

pub(crate) mod load;
pub(crate) mod options;
mod resp;
mod wire;

use std::convert::Infallible;
use std::future;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio::sync::oneshot;

use self::load::{Generator, Load, Seen, WARM_UP};
use self::resp::Store;
use self::wire::Protocol;
use crate::clock::{Lap, Meter};
use crate::failure::Failure;
use crate::fault::Fault;
use crate::switches::switches;
use crate::tally::{Sum, Tally};
use crate::target::Entry;
use crate::target::runtime::Runtime;
use crate::targets::runtimes::{Runtimes, has_tasks};
use crate::workload::{Bench, Metric, Outcome, Params, RuntimeWorkload, Workload};

/// A server and the requests to it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// What is spoken.
    protocol: Protocol,
    /// Connections at a time.
    connections: u64,
    /// Requests that a client sends before it waits for their answers.
    pipeline: u64,
    /// Requests of all clients.
    requests: u64,
    /// Threads of the target.
    threads: u64,
}

impl Workload for Server {
    const NAME: &'static str = "server";
    type Family = Runtimes;

    const METRICS: &'static [Metric] = &[
        Metric::more("rate", "requests/s"),
        Metric::time("cpu-request"),
        Metric::time("p50"),
        Metric::time("p99"),
        Metric::less("switches", "switches"),
        Metric::CPU,
    ];

    fn params(&self) -> Params {
        vec![
            ("protocol", self.protocol.name().into()),
            ("connections", self.connections.into()),
            ("pipeline", self.pipeline.into()),
            ("requests", self.requests.into()),
            ("threads", self.threads.into()),
        ]
    }

    fn is_for(&self, target: &Entry) -> bool {
        has_tasks(target)
    }

    fn threads(&self) -> usize {
        self.threads as usize
    }

    fn further_threads(&self) -> usize {
        // One that waits for the clients.
        1
    }

    fn files(&self) -> u64 {
        self.connections
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.connections, (WARM_UP + self.batches()) * self.pipeline)
    }
}

impl RuntimeWorkload for Server {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::Refused)?;
        let load = self.load(&listener, bench.fault).map_err(Failure::Refused)?;
        let mut generator = Generator::start(&load).map_err(Failure::Refused)?;
        let connections = generator.accept(&listener, self.connections, bench.tally)?;
        let (done, over) = oneshot::channel();
        runtime.block_on(async {
            let tasks = self.serve(runtime, connections, bench.tally).map_err(Failure::Refused)?;
            let clients = thread::Builder::new().name("clients".to_owned());
            let requests = (self.connections * self.batches() * self.pipeline) as f64;
            let clients = clients.spawn(move || drop(done.send(measure(generator, requests))));
            clients.map_err(Failure::Refused)?;
            let values = over.await.map_err(|_| Failure::Panicked)?;
            for task in tasks {
                let ended = task.await;
                // The clients say more about what they missed.
                if let (Err(error), Ok(_)) = (ended, &values) {
                    return Err(Failure::Told(format!("a connection broke: {error}")));
                }
            }
            values
        })
    }
}

impl Server {
    /// Batches of each client.
    fn batches(&self) -> u64 {
        (self.requests / self.connections / self.pipeline).max(1)
    }

    /// The requests to a server that listens here.
    fn load(&self, listener: &TcpListener, fault: Fault) -> io::Result<Load> {
        Ok(Load {
            address: listener.local_addr()?,
            protocol: self.protocol,
            connections: self.connections,
            pipeline: self.pipeline,
            batches: self.batches(),
            copies: fault.copies(0) as u64,
        })
    }

    /// Serves these connections, each by a task.
    fn serve<R: Runtime>(
        &self,
        runtime: &R,
        connections: Vec<TcpStream>,
        tally: &'static Tally,
    ) -> io::Result<Vec<R::Task<io::Result<()>>>> {
        let store = Arc::new(Store::default());
        let tasks = (0..).zip(connections).map(|(number, stream)| {
            let stream = R::stream(stream)?;
            match self.protocol {
                Protocol::Http => runtime.spawn(http::<R>(stream, number, tally)),
                Protocol::Resp => {
                    runtime.spawn(resp::serve(stream, number, Arc::clone(&store), tally))
                }
            }
        });
        tasks.collect()
    }
}

/// Answers all requests of a connection with their paths.
async fn http<R: Runtime>(
    stream: R::Stream,
    connection: u32,
    tally: &'static Tally,
) -> io::Result<()> {
    let served = AtomicU32::new(0);
    let service = service_fn(|request: Request<Incoming>| {
        tally.ran(connection, served.fetch_add(1, Ordering::Relaxed));
        future::ready(Ok::<_, Infallible>(Response::new(request.uri().path().to_owned())))
    });
    let serving = http1::Builder::new().serve_connection(R::http(stream), service);
    serving.await.map_err(io::Error::other)
}

/// Lets the clients make all requests, and measures this process meanwhile.
fn measure(mut generator: Generator, requests: f64) -> Outcome {
    generator.warm()?;
    let (mut meter, lap, before) = (Meter::default(), Lap::begin(), switches());
    let Seen { wall, p50, p99 } = generator.go()?;
    meter.end(&lap);
    let switches = (switches() - before) as f64 / requests;
    generator.end()?;
    let (rate, cpu) = (requests / wall.as_secs_f64(), meter.cpu().as_secs_f64() / requests);
    Ok(vec![rate, cpu, p50, p99, switches, meter.cpus()])
}

#[cfg(test)]
mod tests;
