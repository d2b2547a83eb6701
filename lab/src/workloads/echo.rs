//! TCP ping-pong over loopback: clients send a message and wait until it has been sent back.
//!
//! Both ends of each connection are tasks of the target, so it is measured whole, and nothing
//! else is. The connections exist before anything is timed.

use std::net::{Ipv4Addr, TcpListener, TcpStream};

use tokio::sync::{Semaphore, mpsc};

use crate::clock;
use crate::workloads::prelude::*;

/// Options of `echo`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct Echo {
    /// Connections, each with a client, which has one request in flight at a time.
    #[arg(long, default_value_t = 64, value_parser = whole::<1, { limits::MAX_CONNECTIONS }>)]
    pub(crate) connections: u64,
    /// Requests of all clients together, rounded down to a multiple of their number; at least one each.
    #[arg(long, default_value_t = 20_000, value_parser = whole::<1, { limits::MAX_VALUES }>)]
    pub(crate) requests: u64,
    /// Requests per second of all clients together, at fixed times: the time of each counts from when it was due, even if the
    /// client still waited for the former answer. Without it a client makes a request when it has the former answer.
    #[arg(long, value_parser = whole::<1, { limits::MAX_RATE }>)]
    pub(crate) rate: Option<u64>,
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    pub(crate) threads: u64,
}

/// Requests of each client before the counted ones: two, so the run ends when the first has a fault.
const WARM_UP: u32 = 2;

/// Bytes of a message: the connection, the number, and padding to the size of a small request.
const MESSAGE: usize = 64;

/// The bytes of the message with the connection and the number.
const HEAD: usize = 8;

impl Workload for Echo {
    const DONE: &'static str = "answer small messages over TCP";
    const LIKE: &'static str =
        "It stands for network servers with little work a request: proxies, caches, game servers.";
    type Family = Runtimes;
    const METRICS: &'static [Metric] = metrics! {
        more "requests/s": "rate";
        less "s": "p50" "p90" "p99" "p99.9" "max";
    };

    fn tasks(&self) -> u64 {
        // Both ends of a connection are here, and each is a task.
        2 * self.connections
    }

    fn needs(&self) -> Needs {
        Needs { files: 2 * self.connections, threads: self.rate.is_some().into() }
    }

    fn expected(&self) -> Sum {
        Sum::grid(self.connections, (WARM_UP + self.each()).into())
    }
}

impl RuntimeWorkload for Echo {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let connections = connect(self.connections)?;
        // The first has a permit from each warm client, the other a permit for each when all may continue.
        let [warm, go] = [0, 0].map(|permits| Arc::new(Semaphore::new(permits)));
        runtime.block_on(async {
            let (mut servers, mut clients, mut due) = (Vec::new(), Vec::new(), Vec::new());
            for (number, (client, server)) in connections.into_iter().enumerate() {
                servers.push(runtime.spawn(serve::<MESSAGE>(R::stream(server)?))?);
                let fault = if number == 0 { bench.fault } else { Fault::None };
                let stream = R::stream(client)?;
                let client = Client { stream, number: number as u32, next: 0, tally: bench.tally };
                let requests = self.rate.map(|_| {
                    let (sender, receiver) = mpsc::unbounded_channel();
                    due.push(sender);
                    receiver
                });
                let gates = (Arc::clone(&warm), Arc::clone(&go));
                let run = client.run(self.each(), fault, gates, requests);
                clients.push(runtime.spawn(run)?);
            }
            // Neither of the two is ever closed.
            let _ = warm.acquire_many(self.connections as u32).await;
            let (mut meter, lap) = (Meter::default(), Lap::begin());
            go.add_permits(self.connections as usize);
            if let Some(rate) = self.rate {
                let (each, tally) = (self.each(), bench.tally);
                let pacer = thread::Builder::new().name("pace".to_owned());
                pacer.spawn(move || pace(&due, rate, each, tally))?;
            }
            let mut times = Vec::with_capacity(self.requests as usize);
            for client in clients {
                let some: io::Result<Vec<_>> = client.await;
                let failed = |error| Failure::Told(format!("a client gave up: {error}"));
                times.append(&mut some.map_err(failed)?);
            }
            let wall = meter.end(&lap).as_secs_f64();
            for server in servers {
                server.await;
            }
            let rate = times.len() as f64 / wall;
            let times = bench.quantiles(times, [0.5, 0.9, 0.99, 0.999, 1.0]);
            Ok([&[rate], &times[..], &[meter.cpus()]].concat())
        })
    }
}

impl Echo {
    /// Requests of each client.
    fn each(&self) -> u32 {
        (self.requests / self.connections).max(1) as u32
    }
}

/// This many connections, both ends of each.
pub(super) fn connect(count: u64) -> io::Result<Vec<(TcpStream, TcpStream)>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let connections = (0..count).map(|_| {
        // In turn: the queue of unaccepted connections has a limit.
        let client = TcpStream::connect(address)?;
        let (server, _) = listener.accept()?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        Ok((client, server))
    });
    connections.collect()
}

/// Tells the clients in turn that a request is due, `rate` per second and `each` for each.
fn pace(clients: &[mpsc::UnboundedSender<Instant>], rate: u64, each: u32, tally: &Tally) {
    clock::sleep_short();
    let first = Instant::now();
    for (request, client) in (0..u64::from(each)).flat_map(|_| clients).enumerate() {
        let due = first + Duration::from_nanos(request as u64 * 1_000_000_000 / rate);
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait);
        }
        // Nothing waits after the failure of a client, or after the run was given up.
        if client.send(due).is_err() || tally.go_on().is_err() {
            return;
        }
    }
}

/// Sends back each message of this many bytes, until the client closes the connection.
pub(super) async fn serve<const BYTES: usize>(mut stream: impl Source + Sink) {
    let mut message = [0; BYTES];
    while stream.fill(&mut message).await.is_ok() && stream.put(&message).await.is_ok() {}
}

/// The client's end of a connection.
struct Client<S> {
    /// The connection.
    stream: S,
    /// The number of the connection.
    number: u32,
    /// The highest number of an answer so far, plus 1.
    next: u32,
    /// Counts the answers.
    tally: &'static Tally,
}

impl<S: Source + Sink> Client<S> {
    /// Warms up, waits for the others at the gate, and then makes this many requests; returns the
    /// seconds for each.
    async fn run(
        mut self,
        requests: u32,
        fault: Fault,
        (warm, go): (Arc<Semaphore>, Arc<Semaphore>),
        mut due: Option<mpsc::UnboundedReceiver<Instant>>,
    ) -> io::Result<Vec<f64>> {
        for request in 0..WARM_UP {
            for _ in 0..fault.copies(request) {
                self.ask(request).await?;
            }
        }
        while self.next < WARM_UP {
            self.hear().await?;
        }
        warm.add_permits(1);
        let _ = go.acquire().await.map(|permit| permit.forget());
        let mut times = Vec::with_capacity(requests as usize);
        for request in WARM_UP..WARM_UP + requests {
            let begun = match &mut due {
                None => Some(Instant::now()),
                Some(due) => due.recv().await,
            };
            // Another client has failed, and says why.
            let Some(begun) = begun else { break };
            self.ask(request).await?;
            while self.next <= request {
                self.hear().await?;
            }
            times.push(begun.elapsed().as_secs_f64());
        }
        Ok(times)
    }

    /// Sends the request with this number.
    #[inline]
    async fn ask(&mut self, request: u32) -> io::Result<()> {
        let mut message = [0; MESSAGE];
        message[..4].copy_from_slice(&self.number.to_le_bytes());
        message[4..HEAD].copy_from_slice(&request.to_le_bytes());
        message[HEAD..].fill(request as u8);
        self.stream.put(&message).await
    }

    /// Receives an answer and counts it under the number in it.
    #[inline]
    async fn hear(&mut self) -> io::Result<()> {
        let mut message = [0; MESSAGE];
        self.stream.fill(&mut message).await?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| message[at + byte]));
        let (number, request) = (word(0), word(4));
        if number != self.number || message[HEAD..].iter().any(|&byte| byte != request as u8) {
            // Bytes of two messages, or of another connection: the counts can't be right.
            return Err(io::Error::other("an answer to nothing that was asked"));
        }
        self.tally.ran(number, request);
        self.next = self.next.max(request.saturating_add(1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::pace;
    use crate::tally::Tally;
    use tokio::sync::mpsc;

    #[test]
    fn the_pace_ends_when_a_client_has_failed() {
        let (failed, gone) = mpsc::unbounded_channel();
        let (other, mut asked) = mpsc::unbounded_channel();
        drop(gone);
        pace(&[other, failed], 1_000_000, 3, Tally::leak());
        assert!(asked.try_recv().is_ok() && asked.try_recv().is_err(), "one request");
    }
}
