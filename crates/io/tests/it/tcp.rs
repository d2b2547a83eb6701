//! Connections: echo, half-closed, refused, reset.

use std::io;
use std::net::Shutdown;

use brigade_io::{TcpListener, TcpStream};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::on_a_machine;
use brigade_testkit::test;

const ANYWHERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

async fn connected() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind(ANYWHERE).await?;
    let address = listener.local_addr()?;
    let (client, server) = future::zip(TcpStream::connect(address), listener.accept()).await;
    Ok((client?, server?.0))
}

#[test]
fn sent_bytes_come_back() {
    on_a_machine(|| async {
        let (mut client, server) = connected().await?;
        let echo = async { futures_lite::io::copy(&server, &server).await };
        let ask = async {
            for round in 0..1000_u32 {
                client.write_all(&round.to_le_bytes()).await?;
                let mut answer = [0; 4];
                client.read_exact(&mut answer).await?;
                assert_eq!(u32::from_le_bytes(answer), round);
            }
            client.close().await?;
            assert_eq!(
                client.read(&mut [0]).await?,
                0,
                "the server hangs up when it has heard the end"
            );
            io::Result::Ok(())
        };
        let hang_up = async {
            let copied = echo.await;
            server.shutdown(Shutdown::Write)?;
            copied
        };
        let (copied, asked) = future::zip(hang_up, ask).await;
        asked?;
        assert_eq!(copied?, 4000);
        Ok(())
    });
}

#[test]
fn megabytes_go_both_ways_at_once() {
    on_a_machine(|| async {
        const LENGTH: usize = 4 << 20;
        let (one, other) = connected().await?;
        let send = |stream: TcpStream, byte: u8| async move {
            let mut received = vec![0; LENGTH];
            let sent = vec![byte; LENGTH];
            let (write, read) = future::zip(async { (&stream).write_all(&sent).await }, async {
                (&stream).read_exact(&mut received).await
            })
            .await;
            write.and(read)?;
            io::Result::Ok(received)
        };
        let (one, other) = future::zip(send(one, 1), send(other, 2)).await;
        assert!(one?.iter().all(|&byte| byte == 2));
        assert!(other?.iter().all(|&byte| byte == 1));
        Ok(())
    });
}

#[test]
fn a_closed_half_leaves_the_other() {
    on_a_machine(|| async {
        let (mut client, mut server) = connected().await?;
        client.write_all(b"question").await?;
        client.close().await?;
        let mut question = String::new();
        server.read_to_string(&mut question).await?;
        assert_eq!(question, "question");
        server.write_all(b"answer").await?;
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await?;
        assert_eq!(answer, "answer");
        let error = client.write(b"more").await.unwrap_err();
        // The standard library has no kind for the error of Windows.
        assert!(cfg!(windows) || error.kind() == io::ErrorKind::BrokenPipe, "{error}");
        Ok(())
    });
}

#[test]
fn a_connection_without_listener_is_refused() {
    on_a_machine(|| async {
        // Its port is free again.
        let address = TcpListener::bind(ANYWHERE).await?.local_addr()?;
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        Ok(())
    });
}

#[cfg_attr(windows, ignore = "Wine tells the end in its place")]
#[test]
fn a_reset_ends_a_waiting_read() {
    on_a_machine(|| async {
        let (mut client, server) = connected().await?;
        client.write_all(b"never read").await?;
        let reset = async {
            server.readable().await?;
            // Closing with something unread resets.
            drop(server);
            io::Result::Ok(())
        };
        let mut nothing = [0];
        let (read, dropped) = future::zip(client.read(&mut nothing), reset).await;
        dropped?;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        Ok(())
    });
}

#[test]
fn connections_come_in_turn() {
    on_a_machine(|| async {
        const CLIENTS: u8 = 20;
        let listener = TcpListener::bind(ANYWHERE).await?;
        let address = listener.local_addr()?;
        let clients = async {
            for number in 0..CLIENTS {
                TcpStream::connect(address).await?.write_all(&[number]).await?;
            }
            io::Result::Ok(())
        };
        let serve = async {
            let mut numbers = Vec::new();
            for _ in 0..CLIENTS {
                listener.accept().await?.0.read_to_end(&mut numbers).await?;
            }
            io::Result::Ok(numbers)
        };
        let (clients, served) = future::zip(clients, serve).await;
        clients?;
        assert!(served?.into_iter().eq(0..CLIENTS));
        Ok(())
    });
}

#[test]
fn an_address_is_bound_again_during_a_close() {
    on_a_machine(|| async {
        let listener = TcpListener::bind(ANYWHERE).await?;
        let address = listener.local_addr()?;
        let mut client = TcpStream::connect(address).await?;
        // The server closes first, so its address is the one that lingers.
        drop(listener.accept().await?);
        assert_eq!(client.read(&mut [0]).await?, 0);
        drop((client, listener));
        assert_eq!(TcpListener::bind(address).await?.local_addr()?, address);
        Ok(())
    });
}

#[test]
fn options_and_addresses_are_the_sockets() {
    on_a_machine(|| async {
        let listener = TcpListener::bind(ANYWHERE).await?;
        let client = TcpStream::connect(listener.local_addr()?).await?;
        let (server, from) = listener.accept().await?;
        assert_eq!((client.local_addr()?, client.peer_addr()?), (from, listener.local_addr()?));
        assert_eq!((server.local_addr()?, server.peer_addr()?), (listener.local_addr()?, from));
        for nodelay in [true, false] {
            client.set_nodelay(nodelay)?;
            assert_eq!((client.nodelay()?, client.get_ref().nodelay()?), (nodelay, nodelay));
        }
        Ok(())
    });
}

#[test]
fn peeked_bytes_are_read_again() {
    on_a_machine(|| async {
        let (mut client, mut server) = connected().await?;
        let mut peeked = [0; 8];
        let send = async {
            future::yield_now().await;
            client.write_all(b"bucket").await?;
            client.close().await
        };
        let (length, sent) = future::zip(server.peek(&mut peeked), send).await;
        sent?;
        assert_eq!(&peeked[..length?], b"bucket");
        let mut read = String::new();
        server.read_to_string(&mut read).await?;
        assert_eq!(read, "bucket");
        assert_eq!(server.peek(&mut peeked).await?, 0, "the end");
        Ok(())
    });
}
