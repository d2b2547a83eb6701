//! Servers for HTTP/1, with and without TLS, for HTTP/2 and for RESP over TCP, with their clients in another process.
//!
//! A connection is one task of the target. The connections exist before anything is timed, and each has had its first answers.

mod client;
#[cfg(feature = "full")]
mod http;
pub(crate) mod load;
mod resp;
#[cfg(feature = "full")]
mod secure;
#[cfg(feature = "full")]
mod streams;
mod wire;

use std::net::{Ipv4Addr, TcpListener, TcpStream};

use serde::Deserialize;
use tokio::sync::oneshot;

use self::load::{Generator, Load, WARM_UP};
use self::resp::Store;
use self::wire::Protocol;

#[cfg(feature = "full")]
use crate::target::web::Web;
use crate::workloads::prelude::*;

/// A server and the requests to it.
#[derive(Args, Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Server {
    /// The protocol.
    #[arg(long, value_enum, default_value = "resp")]
    protocol: Protocol,
    /// Connections at a time.
    #[arg(long, default_value_t = 64, value_parser = whole::<1, { limits::MAX_CONNECTIONS }>)]
    connections: u64,
    /// Requests sent by a client before it waits for answers, where the protocol has pipelines.
    #[arg(long, default_value_t = 1, value_parser = whole::<1, { limits::MAX_PIPELINE }>)]
    pipeline: u64,
    /// Requests of all clients together, rounded down to as many for each; at least one pipeline each.
    #[arg(long, default_value_t = 20_000, value_parser = whole::<1, { limits::MAX_VALUES }>)]
    requests: u64,
    /// Threads of the server, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
}

impl Workload for Server {
    const DONE: &'static str = "answer requests to a server";
    const LIKE: &'static str = "It stands for web services and stores like redis, whose clients keep their connections open.";
    type Family = Runtimes;

    const METRICS: &'static [Metric] = metrics! {
        more "requests/s": "rate";
        less "s": "cpu-request" "p50" "p99" "p99.9" "max";
        less "switches": "switches";
    };

    fn check(&self) -> Result<(), Stop> {
        let has_pipelines = ["resp", "http2"].contains(&&*name(&self.protocol));
        let reason = "--pipeline is for the protocols resp and http2 only";
        Stop::usage_if(self.pipeline > 1 && !has_pipelines, reason)
    }

    fn needs(&self) -> Needs {
        // A thread waits for the clients.
        Needs { files: self.connections, threads: 1 }
    }

    fn expected(&self) -> Sum {
        let batches = WARM_UP + self.batches();
        Sum::grid(self.connections, batches * self.pipeline)
    }
}

impl RuntimeWorkload for Server {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let load = Load {
            address: listener.local_addr()?,
            server: self.clone(),
            #[cfg(feature = "full")]
            certificate: (self.protocol == Protocol::Https)
                .then(secure::certificate)
                .transpose()?,
            copies: bench.fault.copies(0) as u64,
        };
        let mut generator = Generator::start(&load)?;
        let connections = generator.accept(&listener, self.connections, bench.tally)?;
        let (done, over) = oneshot::channel();
        runtime.block_on(async {
            let tasks = serve(runtime, connections, &load, bench.tally)?;
            let clients = thread::Builder::new().name("clients".to_owned());
            let (server, tally) = (self.clone(), bench.tally);
            let measured = move || drop(done.send(server.measure(generator, tally)));
            clients.spawn(measured)?;
            let values = over.await.map_err(|_| Failure::Panicked)?;
            for task in tasks {
                let ended = task.await;
                // The clients say more about missing answers.
                if let (Err(error), Ok(_)) = (ended, &values) {
                    return Err(Failure::Told(format!("a connection broke: {error}")));
                }
            }
            values
        })
    }
}

impl Server {
    /// Timed batches of each client.
    fn batches(&self) -> u64 {
        (self.requests / self.connections / self.pipeline).max(1)
    }

    /// Lets the clients make all requests, and measures this process meanwhile.
    fn measure(&self, mut generator: Generator, tally: &Tally) -> Outcome {
        let batches = self.connections * self.batches();
        let timed = (batches * self.pipeline) as f64;
        generator.warm()?;
        let (mut meter, lap, before) = (Meter::default(), Lap::begin(), Usage::now());
        let (wall, quantiles) = generator.go()?;
        meter.end(&lap);
        let switches = before.since().switches() / timed;
        tally.note_values(batches);
        generator.end()?;
        let (rate, cpu) = (timed / wall, meter.cpu.as_secs_f64() / timed);
        Ok([&[rate, cpu], &quantiles[..], &[switches, meter.cpus()]].concat())
    }
}

/// Serves these connections, each by a task.
fn serve<R: Runtime>(
    runtime: &R,
    connections: Vec<TcpStream>,
    load: &Load,
    tally: &'static Tally,
) -> io::Result<Vec<R::Task<io::Result<()>>>> {
    let store = Arc::new(Store::default());
    #[cfg(feature = "full")]
    let config = load.certificate.as_ref().map(secure::server).transpose()?;
    let tasks = (0..).zip(connections).map(|(number, stream)| {
        let stream = R::stream(stream)?;
        match load.server.protocol {
            #[cfg(feature = "full")]
            Protocol::Http => runtime.spawn(http::one(stream.http(), number, tally)),
            #[cfg(feature = "full")]
            Protocol::Https => {
                let config = config.clone().expect("there is a certificate");
                runtime.spawn(async move {
                    http::one(stream.secure(config).await?, number, tally).await
                })
            }
            #[cfg(feature = "full")]
            Protocol::Http2 => {
                let spawner = http::Spawner(runtime.spawner());
                runtime.spawn(http::two(stream.http(), number, spawner, tally))
            }
            Protocol::Resp => runtime.spawn(resp::serve(stream, number, Arc::clone(&store), tally)),
        }
    });
    tasks.collect()
}

#[cfg(test)]
mod tests;
