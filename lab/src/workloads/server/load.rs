//! The load generator, in a separate process, so the CPU time of the laboratory is the server's.
//!
//! The process runs this program again. It reads a line with the [`Load`], opens the connections, makes the first requests over each, says so, and waits
//! for a line on stdin. Then it makes all timed requests and prints the numbers. It checks every answer.

use std::io::Error;
use std::mem;
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use tokio::runtime::Builder;

use super::Server;
use super::client::{Client, Line};
#[cfg(feature = "full")]
use super::{secure::Certificate, streams::Streams, wire::Protocol};
use crate::program::{Helper, hear, tell};
use crate::stats::quantiles;
use crate::workloads::prelude::*;

/// The subcommand of the process. `list` doesn't name it.
pub(crate) const COMMAND: &str = "load";

/// Batches of each connection before the counted ones: two, so the run ends when the first request has a fault.
pub(super) const WARM_UP: u64 = 2;

/// Time between two looks at a process that does not connect.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The requests of the process, as a line on stdin.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Load {
    /// Where the server is.
    pub(super) address: SocketAddr,
    /// The options of the workload.
    pub(super) server: Server,
    /// The certificate of the server, if there is TLS.
    #[cfg(feature = "full")]
    pub(super) certificate: Option<Certificate>,
    /// How often the very first request is made: a fault, if it is not 1.
    pub(super) copies: u64,
}

/// The median, two further percentiles and the greatest.
const SHARES: [f64; 4] = [0.5, 0.99, 0.999, 1.0];

/// The numbers of some requests, as the clients see them: the seconds of all of them, and the seconds from just before a batch is sent to
/// the end of its last answer, at [`SHARES`] of the batches.
type Seen = (f64, [f64; SHARES.len()]);

/// The process. It ends when this is dropped.
pub(super) struct Generator(Helper);

impl Generator {
    /// Starts the process.
    pub(super) fn start(load: &Load) -> io::Result<Self> {
        let mut helper = Helper::start(&[COMMAND])?;
        helper.say(load);
        Ok(Generator(helper))
    }

    /// Accepts the connections in turn.
    pub(super) fn accept(
        &mut self,
        listener: &TcpListener,
        connections: u64,
        tally: &Tally,
    ) -> Result<Vec<TcpStream>, Failure> {
        let mut accepted = Vec::with_capacity(connections as usize);
        while (accepted.len() as u64) < connections {
            tally.go_on()?;
            let ready = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&LOOK));
            if matches!(ready, Ok(count) if count > 0) {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                accepted.push(stream);
            } else if self.0.child.try_wait()?.is_some() {
                return Err(self.failed());
            }
        }
        Ok(accepted)
    }

    /// Waits until every connection has had its first answers.
    pub(super) fn warm(&mut self) -> Result<(), Failure> {
        self.0.hear().ok_or_else(|| self.failed())
    }

    /// Lets it make the timed requests, and waits for the last answer.
    pub(super) fn go(&mut self) -> Result<Seen, Failure> {
        self.0.say(&());
        self.0.hear().ok_or_else(|| self.failed())
    }

    /// Waits for the end; an error if something came over a connection after the last answer.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        let status = self.0.child.wait()?;
        if status.success() { Ok(()) } else { Err(self.failed()) }
    }

    /// The reason why it has ended.
    fn failed(&mut self) -> Failure {
        Failure::Told(format!("its load generator ended: {}", self.0.reason()))
    }
}

/// The main function of the process.
pub(crate) fn generate() -> Result<(), Stop> {
    // Nothing waits for it once the laboratory has ended.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let load: Load =
        hear(io::stdin().lock()).map_err(|error| Stop::Usage(format!("no load: {error}")))?;
    Needs { files: load.server.connections, threads: 0 }.check()?;
    let failed = |error: Error| Stop::Failed(error.to_string());
    let runtime = Builder::new_current_thread().enable_io().build().map_err(failed)?;
    let made = match load.server.protocol {
        #[cfg(feature = "full")]
        Protocol::Http2 => runtime.block_on(clients::<Streams>(&load)),
        _ => runtime.block_on(clients::<Line>(&load)),
    };
    made.map_err(failed)
}

/// Makes all requests.
async fn clients<C: Client>(load: &Load) -> io::Result<()> {
    let mut streams = Vec::new();
    for _ in 0..load.server.connections {
        streams.push(tokio::net::TcpStream::connect(load.address).await?);
    }
    let opened = (0..).zip(streams).map(|(number, stream)| {
        let load = load.clone();
        tokio::spawn(async move {
            stream.set_nodelay(true)?;
            let client = C::open(stream, &load, number).await?;
            let copies = if number == 0 { load.copies } else { 1 };
            let asking = Asking { client, pipeline: load.server.pipeline as u32, next: 0 };
            asking.run(WARM_UP as usize, copies as usize).await
        })
    });
    let (mut clients, mut begun) = (Vec::new(), opened.collect::<Vec<_>>());
    for task in begun.drain(..) {
        clients.push(task.await??.0);
    }
    tell(&())?;
    hear::<()>(io::stdin().lock())?;
    let begun = Instant::now();
    let batches = load.server.batches() as usize;
    let tasks = clients.into_iter().map(|client| tokio::spawn(client.run(batches, 1)));
    let (mut times, mut ended) = (Vec::new(), Vec::new());
    for task in tasks.collect::<Vec<_>>() {
        let (asking, some) = task.await??;
        times.extend(some);
        ended.push(asking.client);
    }
    let wall = begun.elapsed().as_secs_f64();
    tell(&(wall, quantiles(times, SHARES)))?;
    for client in ended {
        client.end().await?;
    }
    Ok(())
}

/// A client and its requests.
struct Asking<C> {
    /// The client.
    client: C,
    /// Requests of a batch.
    pipeline: u32,
    /// The number of the next request.
    next: u32,
}

impl<C: Client> Asking<C> {
    /// Makes this many batches, with the first request as often as `copies` says; returns itself and the seconds of each batch.
    async fn run(mut self, batches: usize, mut copies: usize) -> io::Result<(Self, Vec<f64>)> {
        let mut times = Vec::with_capacity(batches);
        for _ in 0..batches {
            for _ in 0..self.pipeline {
                for _ in 0..mem::replace(&mut copies, 1) {
                    self.client.ask(self.next)?;
                }
                self.next += 1;
            }
            let begun = Instant::now();
            self.client.talk().await?;
            times.push(begun.elapsed().as_secs_f64());
        }
        Ok((self, times))
    }
}
