//! Datagrams, and connections inside one machine.

use std::io;

use brigade_io::UdpSocket;
#[cfg(unix)]
use brigade_io::{Async, UnixListener, UnixStream};
use futures_lite::future;
#[cfg(unix)]
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use crate::machine::on_a_machine;
use brigade_testkit::test;

const ANYWHERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

#[test]
fn datagrams_keep_their_borders_and_sender() {
    on_a_machine(|| async {
        let (one, other) = (UdpSocket::bind(ANYWHERE).await?, UdpSocket::bind(ANYWHERE).await?);
        let addresses = (one.local_addr()?, other.local_addr()?);
        let mut buffer = [0; 64];
        for round in 1..100_usize {
            let send = async {
                future::yield_now().await;
                one.send_to(&vec![7; round % 50], addresses.1).await
            };
            let (received, sent) = future::zip(other.recv_from(&mut buffer), send).await;
            assert_eq!((sent?, received?), (round % 50, (round % 50, addresses.0)));
        }
        assert_eq!(one.peer_addr().unwrap_err().kind(), io::ErrorKind::NotConnected);
        one.connect(addresses.1).await?;
        assert_eq!(one.peer_addr()?, addresses.1);
        other.connect(addresses.0).await?;
        one.send(b"nineteen characters").await?;
        assert_eq!(other.recv(&mut buffer).await?, 19);
        Ok(())
    });
}

#[cfg_attr(windows, ignore = "Wine tells of no such error")]
#[test]
fn an_undelivered_datagram_fails_the_next_call() {
    on_a_machine(|| async {
        // Of an address that no other test binds: a socket of those could get the port once it is free.
        let closed = UdpSocket::bind(([127, 0, 0, 2], 0)).await?.local_addr()?;
        let socket = UdpSocket::bind(ANYWHERE).await?;
        socket.connect(closed).await?;
        socket.send(b"hello?").await?;
        let error = socket.recv(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        Ok(())
    });
}

#[cfg(unix)]
#[test]
fn a_path_is_bound_connected_to_and_served() {
    on_a_machine(|| async {
        let path = std::env::temp_dir().join(format!("brigade-io-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let error = UnixStream::connect(&path).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path)?;
        assert_eq!(listener.local_addr()?.as_pathname(), Some(&*path));
        let (accepted, client) = future::zip(listener.accept(), UnixStream::connect(&path)).await;
        let ((mut server, _), mut client) = (accepted?, client?);
        assert_eq!(client.peer_addr()?.as_pathname(), Some(&*path));
        assert_eq!(server.local_addr()?.as_pathname(), Some(&*path));
        assert!(client.local_addr()?.is_unnamed() && server.peer_addr()?.is_unnamed());
        client.write_all(b"over here").await?;
        client.close().await?;
        let mut received = String::new();
        server.read_to_string(&mut received).await?;
        assert_eq!(received, "over here");
        drop(listener);
        let error = UnixStream::connect(&path).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        std::fs::remove_file(&path)
    });
}

#[cfg(unix)]
#[test]
fn datagrams_by_a_users_own_operations() {
    on_a_machine(|| async {
        let (one, other) = std::os::unix::net::UnixDatagram::pair()?;
        let (one, other) = (Async::new(one)?, Async::new(other)?);
        let send = async {
            for number in 0..2000_u32 {
                // More than the queue takes: waits for room.
                one.write_with(|socket| socket.send(&number.to_le_bytes())).await?;
            }
            io::Result::Ok(())
        };
        let receive = async {
            for number in 0..2000_u32 {
                let mut buffer = [0; 8];
                let length = other.read_with(|socket| socket.recv(&mut buffer)).await?;
                assert_eq!(buffer[..length], number.to_le_bytes());
            }
            io::Result::Ok(())
        };
        let (sent, received) = future::zip(send, receive).await;
        sent.and(received)
    });
}
