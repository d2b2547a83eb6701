//! Code that was written for tokio, on the threads of a pool.
//!
//! tokio's sockets and sleeps need tokio's reactor, which `async-compat` runs on one thread of its own. The pool polls the futures
//! that use them, beside other futures and closures. Futures for the pool must be spawned by `brigade::spawn`: `tokio::spawn` would
//! run them on that other thread.
//!
//! ```sh
//! cargo run --example async_compat
//! ```

use std::io;
use std::time::Duration;

use async_compat::Compat;
use brigade::Pool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers one connection with what it sends, in capitals.
async fn shout(listener: TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    // A closure beside the futures: what computes for long belongs on a queue, not into a poll.
    let shouted = brigade::submit(move || text.to_uppercase()).await?;
    stream.write_all(shouted.as_bytes()).await
}

/// Asks such a server.
async fn ask() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = brigade::spawn(Compat::new(shout(listener)));
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"bucket").await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    tokio::time::timeout(Duration::from_secs(60), read).await??;
    server.await??;
    Ok(answer)
}

fn main() -> io::Result<()> {
    let pool = Pool::new(2);
    let answer = pool.spawn(Compat::new(ask()));
    assert_eq!(answer.join()??, "BUCKET");
    println!("tokio's sockets, brigade's threads");
    Ok(())
}
