//! The load generator, in a process of its own, so that the CPU time of the laboratory is that of the server.
//!
//! The process runs this program again. It opens the connections, makes the first requests over each, prints [`WARM`], and waits
//! for a line on stdin. Then it makes all others and prints the numbers. It checks every answer.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

use super::wire::{Protocol, Wire};
use crate::failure::Failure;
use crate::limits::{self, whole};
use crate::needs::Needs;
use crate::program;
use crate::stats::{quantile, sorted};
use crate::stop::Stop;
use crate::tally::Tally;

/// The subcommand of the process. `list` doesn't name it.
pub(crate) const COMMAND: &str = "load";

/// What the process prints when every connection has had its first answers.
const WARM: &str = "warm";

/// Batches of each connection before those that count: two, so that the run comes to its end when the first request has a fault.
pub(super) const WARM_UP: u64 = 2;

/// Time between two looks at a process that does not connect.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Options of the process.
#[derive(Args, Clone, Debug)]
pub(crate) struct Load {
    /// Where the server is.
    #[arg(long)]
    pub(super) address: SocketAddr,
    /// What is spoken.
    #[arg(long, value_enum)]
    pub(super) protocol: Protocol,
    /// Connections at a time.
    #[arg(long, value_parser = whole::<1, { limits::MAX_CONNECTIONS }>)]
    pub(super) connections: u64,
    /// Requests that a client sends before it waits for their answers.
    #[arg(long, value_parser = whole::<1, { limits::MAX_PIPELINE }>)]
    pub(super) pipeline: u64,
    /// How often each client does that.
    #[arg(long, value_parser = whole::<1, { limits::MAX_VALUES }>)]
    pub(super) batches: u64,
    /// How often the very first request is made: a fault, if it is not 1.
    #[arg(long, value_parser = whole::<0, 2>)]
    pub(super) copies: u64,
}

/// The numbers of a run, as the clients see it.
pub(super) struct Seen {
    /// The time of all requests that count.
    pub(super) wall: Duration,
    /// Seconds from just before a batch is sent to the end of its last answer.
    pub(super) p50: f64,
    /// The same.
    pub(super) p99: f64,
}

/// The process. It ends when this is dropped.
pub(super) struct Generator {
    /// The process.
    child: Child,
    /// Tells it to go on.
    stdin: ChildStdin,
    /// What it says.
    stdout: BufReader<ChildStdout>,
}

impl Generator {
    /// Starts the process.
    pub(super) fn start(load: &Load) -> io::Result<Self> {
        let mut command = program::this()?;
        command.arg(COMMAND).args(["--protocol", load.protocol.name()]);
        command.args(["--address", &load.address.to_string()]);
        for (option, value) in [
            ("--connections", load.connections),
            ("--pipeline", load.pipeline),
            ("--batches", load.batches),
            ("--copies", load.copies),
        ] {
            command.args([option, &value.to_string()]);
        }
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.expect("it is piped"), stdout.expect("it is piped"));
        Ok(Generator { child, stdin, stdout: BufReader::new(stdout) })
    }

    /// Accepts its connections, one after the other.
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
                let (stream, _) = listener.accept().map_err(Failure::Refused)?;
                stream.set_nodelay(true).map_err(Failure::Refused)?;
                accepted.push(stream);
            } else if self.child.try_wait().map_err(Failure::Refused)?.is_some() {
                return Err(self.failed());
            }
        }
        Ok(accepted)
    }

    /// Waits until every connection has had its first answers.
    pub(super) fn warm(&mut self) -> Result<(), Failure> {
        if self.line().is_ok_and(|line| line == WARM) { Ok(()) } else { Err(self.failed()) }
    }

    /// Lets it make all requests that count, and waits for the last answer.
    pub(super) fn go(&mut self) -> Result<Seen, Failure> {
        // A process that has ended says why.
        let _ = writeln!(self.stdin);
        let line = self.line().unwrap_or_default();
        let Ok([wall, p50, p99]) = serde_json::from_str::<[f64; 3]>(&line) else {
            return Err(self.failed());
        };
        Ok(Seen { wall: Duration::from_secs_f64(wall), p50, p99 })
    }

    /// Waits for its end; an error if something came over a connection after the last answer.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        let status = self.child.wait().map_err(Failure::Refused)?;
        if status.success() { Ok(()) } else { Err(self.failed()) }
    }

    /// The next line that it prints.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// The reason why it has ended.
    fn failed(&mut self) -> Failure {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        let reason = said.trim().rsplit("brigade-lab: ").next().unwrap_or_default();
        Failure::Told(format!("its load generator ended: {reason}"))
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // One that has ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The main function of the process.
pub(crate) fn generate(load: &Load) -> Result<(), Stop> {
    // Nothing waits for it once the laboratory has ended.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    Needs { files: load.connections, threads: 0 }.check()?;
    let failed = |error: Error| Stop::Failed(error.to_string());
    let runtime = Builder::new_current_thread().enable_io().build().map_err(failed)?;
    runtime.block_on(clients(load)).map_err(failed)
}

/// Makes all requests.
async fn clients(load: &Load) -> io::Result<()> {
    let mut clients = Vec::new();
    for number in 0..load.connections as u32 {
        let stream = tokio::net::TcpStream::connect(load.address).await?;
        stream.set_nodelay(true)?;
        let wire = Wire::new(load.protocol, number);
        clients.push(Client { stream, wire, received: Vec::new(), next: 0 });
    }
    let (pipeline, batches) = (load.pipeline as u32, load.batches as u32);
    let mut warm = Vec::new();
    for (number, client) in (0..).zip(clients) {
        let copies = if number == 0 { load.copies } else { 1 };
        warm.push(tokio::spawn(client.warm(pipeline, copies as usize)));
    }
    let mut clients = Vec::new();
    for task in warm {
        clients.push(task.await??);
    }
    say(WARM)?;
    io::stdin().read_line(&mut String::new())?;
    let begun = Instant::now();
    let tasks = clients.into_iter().map(|client| tokio::spawn(client.run(pipeline, batches)));
    let (mut times, mut clients) = (Vec::new(), Vec::new());
    for task in tasks.collect::<Vec<_>>() {
        let (some, client) = task.await??;
        times.extend(some);
        clients.push(client);
    }
    let (wall, times) = (begun.elapsed().as_secs_f64(), sorted(times));
    let [p50, p99] = [0.5, 0.99].map(|share| quantile(&times, share));
    say(&serde_json::to_string(&[wall, p50, p99])?)?;
    for client in clients {
        client.end().await?;
    }
    Ok(())
}

/// Prints a line for the laboratory.
fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// The other end of a connection.
struct Client {
    /// The connection.
    stream: tokio::net::TcpStream,
    /// What is said over it.
    wire: Wire,
    /// What has come and is not an answer yet.
    received: Vec<u8>,
    /// The number of the next request.
    next: u32,
}

impl Client {
    /// Makes the batches that do not count, with the first request as often as `copies` says.
    async fn warm(mut self, pipeline: u32, copies: usize) -> io::Result<Self> {
        let mut copies = Some(copies);
        for _ in 0..WARM_UP {
            for _ in 0..pipeline {
                for _ in 0..copies.take().unwrap_or(1) {
                    self.wire.ask(self.next)?;
                }
                self.next += 1;
            }
            self.talk().await?;
        }
        Ok(self)
    }

    /// Makes this many batches; returns the seconds of each.
    async fn run(mut self, pipeline: u32, batches: u32) -> io::Result<(Vec<f64>, Self)> {
        let mut times = Vec::with_capacity(batches as usize);
        for _ in 0..batches {
            for _ in 0..pipeline {
                self.wire.ask(self.next)?;
                self.next += 1;
            }
            let begun = Instant::now();
            self.talk().await?;
            times.push(begun.elapsed().as_secs_f64());
        }
        Ok((times, self))
    }

    /// Writes all requests and reads all answers.
    async fn talk(&mut self) -> io::Result<()> {
        if self.wire.requests.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.wire.requests).await?;
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "a connection was closed"));
            }
            if self.wire.answered(&self.received)? {
                self.received.clear();
                return Ok(());
            }
        }
    }

    /// Closes this end, after which nothing must come.
    async fn end(mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        if self.stream.read_buf(&mut self.received).await? == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidData, "an answer to nothing that was asked"))
    }
}
