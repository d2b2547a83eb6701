//! A line server: each line comes back in capitals. It has a time limit for a line, a limit on connections, and a graceful end:
//! it stops accepting, and connections may finish.
//!
//! Typed: `?` after `brigade::submit(..)` and `brigade::spawn(..)`, and `pool.shutdown_timeout(Shutdown::Drain, d)`. The draft
//! ended with standard input; this ends with the sender of a channel.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use brigade::io::{TcpListener, TcpStream};
use brigade::{Pool, Report, Shutdown, time};
use futures_lite::{AsyncBufReadExt, AsyncWriteExt, io::BufReader};

const LINE: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(60);

async fn serve(stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    loop {
        line.clear();
        if time::timeout(LINE, reader.read_line(&mut line)).await?? == 0 {
            return Ok(());
        }
        let text = line.clone();
        // CPU work goes to the pool as a closure.
        let answer = brigade::submit(move || text.to_uppercase()).await?;
        time::timeout(LINE, (&stream).write_all(answer.as_bytes())).await??;
    }
}

/// Serves, and has clients ask it in the meantime.
fn run(clients: impl FnOnce(SocketAddr) -> io::Result<()>) -> anyhow::Result<Report> {
    let pool = Pool::builder().threads(2).build()?;
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let (bound, address) = std::sync::mpsc::channel();
    let server = pool.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        bound.send(listener.local_addr()?)?;
        let mut connections = Vec::new();
        loop {
            let accepted =
                futures_lite::future::or(async { Some(listener.accept().await) }, async {
                    stopped.recv().await.ok();
                    None
                })
                .await;
            let Some(accepted) = accepted else { break };
            let (stream, from) = accepted?;
            connections.push(brigade::spawn(async move {
                if let Err(error) = serve(stream).await {
                    eprintln!("{from}: {error}");
                }
            }));
            connections.retain(|c| !c.is_finished());
            while connections.len() >= 100 {
                // Back-pressure: wait for one of them to end.
                connections.pop().unwrap().await?;
            }
        }
        // Graceful: those that are open may finish.
        let grace = time::timeout(GRACE, async {
            for connection in connections {
                connection.await.ok();
            }
        });
        grace.await.ok();
        anyhow::Ok(())
    });
    clients(address.recv()?)?;
    drop(stop);
    server.join()??;
    Ok(pool.shutdown(Shutdown::Drain.timeout(Duration::from_secs(60))))
}

#[test]
fn every_line_is_answered() -> anyhow::Result<()> {
    use std::io::{Read, Write};
    let report = run(|address| {
        for text in ["bucket\nbrigade\n", "last\n"] {
            let mut stream = std::net::TcpStream::connect(address)?;
            stream.write_all(text.as_bytes())?;
            stream.shutdown(std::net::Shutdown::Write)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            assert_eq!(answer, text.to_uppercase());
        }
        Ok(())
    })?;
    // The server, two connections, three lines.
    assert_eq!((report.ran, report.discarded, report.still_running), (6, 0, 0));
    Ok(())
}
