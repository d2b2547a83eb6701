//! A line server: it answers each line with the same in capitals.
//!
//! It shows what a small service needs besides sockets:
//!
//! - a limit on connections. At the limit it does not accept, so further clients wait in the backlog of the listening socket;
//! - a limit on the time in which a client must send a line and take its answer;
//! - a graceful end. Ctrl-C ends accepting, and connections that are open may finish, up to a limit.
//!
//! ```sh
//! cargo run --features io --example line_server -- 127.0.0.1:7000     # then: nc 127.0.0.1 7000
//! ```
//!
//! Without an address it has clients of its own, and sends itself the signal. The signal comes through a socket, on Unix only.

#![cfg_attr(not(unix), allow(dead_code, unused_imports))]
#![allow(clippy::disallowed_types, reason = "an example uses the standard library")]

use std::io::{self, Read, Write};
use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use async_lock::Semaphore;
use brigade::io::{TcpListener, TcpStream};
use brigade::{Pool, Shutdown, time};
use futures_lite::future;
use futures_lite::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// How many connections are open at once.
const CONNECTIONS: usize = 4;

/// How long a client may take to send a line, and to take its answer.
const LINE: Duration = Duration::from_secs(30);

/// The longest line, in bytes. A longer one is answered in parts.
const LENGTH: u64 = 16 * 1024;

/// How long connections may finish after Ctrl-C.
const GRACE: Duration = Duration::from_secs(60);

/// How long not to accept after an error: most are that there are too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers lines until the client closes its side.
async fn serve(stream: &TcpStream) -> io::Result<()> {
    let (mut lines, mut answers) = (BufReader::new(stream), stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut lines).take(LENGTH);
        // The first `?` is for the time limit, the second for the socket.
        if time::timeout(LINE, limited.read_until(b'\n', &mut line)).await?? == 0 {
            return Ok(());
        }
        line.make_ascii_uppercase();
        time::timeout(LINE, answers.write_all(&line)).await??;
    }
}

/// Accepts connections forever, and serves each in a future of its own. Counts those that are open.
async fn listen(listener: TcpListener, open: Arc<Open>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Back-pressure: there is a permit before there is a connection.
        let permit = permits.acquire_arc().await;
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                time::sleep(PAUSE).await;
                continue;
            }
        };
        let open = open.clone();
        brigade::spawn(async move {
            open.begin();
            if let Err(error) = serve(&stream).await {
                eprintln!("{from}: {error}");
            }
            open.end();
            drop(permit);
        });
    }
}

/// Counts connections.
#[derive(Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Open {
    fn begin(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    fn end(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Is ready when the process is told to end.
#[cfg(unix)]
async fn ctrl_c() -> io::Result<()> {
    use brigade::io::Async;
    use signal_hook::{consts::SIGINT, low_level::pipe};
    let (receiver, sender) = std::os::unix::net::UnixStream::pair()?;
    pipe::register(SIGINT, sender)?;
    Async::new(receiver)?.read_exact(&mut [0]).await
}

/// Sends lines and returns the answers.
fn ask(stream: &mut net::TcpStream, text: &str) -> io::Result<String> {
    stream.write_all(text.as_bytes())?;
    let mut answer = vec![0; text.len()];
    stream.read_exact(&mut answer)?;
    String::from_utf8(answer).map_err(io::Error::other)
}

/// More clients than connections, then some that are connected when the signal comes.
#[cfg(unix)]
fn clients(address: SocketAddr) -> io::Result<()> {
    let ask_once = |number: usize| {
        let mut stream = net::TcpStream::connect(address)?;
        let answer = ask(&mut stream, &format!("client {number}\n"))?;
        assert_eq!(answer, format!("CLIENT {number}\n"));
        io::Result::Ok(())
    };
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..3 * CONNECTIONS).map(|number| scope.spawn(move || ask_once(number))).collect();
        clients.into_iter().try_for_each(|client| join(client.join()))
    })?;

    let connect = |_| net::TcpStream::connect(address);
    let mut streams = (0..CONNECTIONS).map(connect).collect::<io::Result<Vec<_>>>()?;
    for stream in &mut streams {
        assert_eq!(ask(stream, "before the signal\n")?, "BEFORE THE SIGNAL\n");
    }
    signal_hook::low_level::raise(signal_hook::consts::SIGINT)?;
    for stream in &mut streams {
        assert_eq!(ask(stream, "after it\n")?, "AFTER IT\n");
    }
    Ok(())
}

/// The outcome of a thread; goes on with its panic.
fn join(outcome: thread::Result<io::Result<()>>) -> io::Result<()> {
    outcome.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

#[cfg(unix)]
fn main() -> io::Result<()> {
    let address = std::env::args().nth(1);
    let pool = Pool::builder().threads(2).name("server").build()?;
    let open = Arc::new(Open::default());

    let clients = pool.block_on(async {
        let bind = address.as_deref().unwrap_or("127.0.0.1:0");
        let (listener, ends) = (TcpListener::bind(bind).await?, ctrl_c());
        let address_is_given = address.is_some();
        let bound = listener.local_addr()?;
        println!("listening on {bound}");
        let mut ends = std::pin::pin!(ends);
        // Registers the signal before it is sent.
        assert!(future::poll_once(&mut ends).await.is_none(), "no signal yet");
        let clients = (!address_is_given).then(|| thread::spawn(move || clients(bound)));

        // Whichever is ready first: `listen` never is, and is dropped with the listener.
        let listen = async {
            listen(listener, open.clone()).await;
            Ok(())
        };
        future::or(ends, listen).await?;
        io::Result::Ok(clients)
    })?;

    println!("finishing {} connections", open.now.load(Ordering::Relaxed));
    let report = pool.shutdown(Shutdown::Finish.timeout(GRACE));
    println!("{} connections were served", report.ran);
    if let Some(clients) = clients {
        join(clients.join())?;
        let served = 4 * CONNECTIONS as u64;
        assert_eq!((report.ran, report.discarded, report.still_running), (served, 0, 0));
        assert_eq!(open.most.load(Ordering::Relaxed), CONNECTIONS);
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    println!("this example gets its signal through a Unix socket");
}
