//! What a program of another process inherits: no socket and no pipe, however it was made. And a numeric address is the first thing that the
//! process wants of the network.
//!
//! A process of its own, as the first call of the network is the process's. On every system: nothing here asks for a number of a file.

#![cfg(not(brigade_loom))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, ErrorKind};
use std::process::{Child, Stdio};

use brigade::io::{TcpListener, TcpStream, UdpSocket};
use brigade_testkit::{test, this_program};
use futures_lite::{AsyncRead, AsyncReadExt, future};

const ANYWHERE: &str = "127.0.0.1:0";
/// In the environment of the other program.
const OTHER: &str = "BRIGADE_INHERITED_OTHER";

/// Another program, which runs until this is dropped.
struct Other(Child);

impl Other {
    fn start() -> Self {
        let mut this = this_program();
        this.env(OTHER, "1").stdin(Stdio::piped()).stdout(Stdio::null());
        Self(this.spawn().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Drops one end beside another program; the other end must see that while the program runs.
async fn sees_the_end<K: AsyncRead + Unpin, D>(what: &str, ends: (K, D)) -> io::Result<()> {
    println!("{what} is dropped");
    let (mut kept, dropped) = ends;
    let _other = Other::start();
    drop(dropped);
    assert_eq!(kept.read(&mut [0]).await?, 0, "{what}");
    Ok(())
}

async fn tcp() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(ANYWHERE).await?;
    let address = listener.local_addr()?;
    let (client, server) = future::zip(TcpStream::connect(address), listener.accept()).await;
    Ok((client?, server?.0))
}

/// An address that only one socket may have. The other program has it for a moment: its `exec` closes one file after the other.
async fn addresses() -> io::Result<()> {
    let listener = TcpListener::bind(ANYWHERE).await?;
    let udp = UdpSocket::bind(ANYWHERE).await?;
    let (listened, bound) = (listener.local_addr()?, udp.local_addr()?);
    let _other = Other::start();
    drop((listener, udp));
    println!("a listener is dropped");
    let refused = |outcome: io::Result<_>| {
        outcome.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    while !refused(TcpStream::connect(listened).await.map(drop)) {}
    println!("a socket of datagrams is dropped");
    while UdpSocket::bind(bound).await.is_err() {}
    Ok(())
}

#[cfg(unix)]
async fn unix() -> io::Result<()> {
    use brigade::io::{UnixListener, UnixStream, pipe};

    sees_the_end("a Unix socket of a pair", UnixStream::pair()?).await?;
    let path = env::temp_dir().join(format!("brigade-inherited-{}", std::process::id()));
    let listener = UnixListener::bind(&path)?;
    for what in ["a connected Unix socket", "an accepted Unix socket"] {
        let (client, server) = future::zip(UnixStream::connect(&path), listener.accept()).await;
        let (client, server) = (client?, server?.0);
        let is_accepted = what.contains("accepted");
        let ends = if is_accepted { (client, server) } else { (server, client) };
        sees_the_end(what, ends).await?;
    }
    std::fs::remove_file(&path)?;
    sees_the_end("the writer of a pipe", pipe()?).await
}

/// Caught: on Windows the first `connect` failed with the code 10093, and what had connected was inherited.
#[test(10)]
fn another_program_holds_nothing_open() {
    if env::var_os(OTHER).is_some() {
        io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
        return;
    }
    let all = async {
        // No listener has this port, and the standard library has not been asked for a socket.
        let refused = TcpStream::connect("127.0.0.1:1").await.map_err(|error| error.kind());
        assert_eq!(refused.map(drop), Err(ErrorKind::ConnectionRefused));

        let (client, server) = tcp().await?;
        sees_the_end("a connected socket", (server, client)).await?;
        sees_the_end("an accepted socket", tcp().await?).await?;
        addresses().await?;
        #[cfg(unix)]
        unix().await?;
        io::Result::Ok(())
    };
    brigade::block_on(all).unwrap();
}
