//! Connections in two halves.

use std::io;

use brigade_io::{ReuniteError, TcpListener, TcpStream, UnixStream};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::on_a_machine;
use brigade_testkit::Watchdog;

async fn tcp() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    Ok((client, listener.accept().await?.0))
}

#[test]
fn the_halves_wait_apart() {
    let _dog = Watchdog::start(60);
    on_a_machine(|| async {
        const LENGTH: usize = 1 << 20;
        let (near, far) = tcp().await?;
        let (mut reader, mut writer) = near.split();
        let echo = async {
            let echoed = futures_lite::io::copy(&far, &far).await;
            drop(far);
            echoed
        };
        let send = async move { writer.write_all(&vec![7; LENGTH]).await };
        let mut received = Vec::new();
        let receive = reader.read_to_end(&mut received);
        let (echoed, (sent, ended)) = future::zip(echo, future::zip(send, receive)).await;
        sent?;
        ended?;
        assert_eq!((echoed?, received), (LENGTH as u64, vec![7; LENGTH]));
        Ok(())
    });
}

#[test]
fn a_dropped_writer_ends_what_is_sent_and_not_what_is_received() {
    let _dog = Watchdog::start(60);
    on_a_machine(|| async {
        let (near, mut far) = tcp().await?;
        let (mut reader, writer) = near.split();
        drop(writer);
        assert_eq!(far.read(&mut [0]).await?, 0);
        far.write_all(b"x").await?;
        assert_eq!(reader.read(&mut [0]).await?, 1);
        let (near, mut far) = UnixStream::pair()?;
        let (mut reader, writer) = near.split();
        drop(writer);
        assert_eq!(far.read(&mut [0]).await?, 0);
        far.write_all(b"x").await?;
        assert_eq!(reader.read(&mut [0]).await?, 1);
        Ok(())
    });
}

#[test]
fn a_closed_writer_ends_what_is_sent_at_once() {
    let _dog = Watchdog::start(60);
    on_a_machine(|| async {
        let (near, mut far) = tcp().await?;
        let (_reader, mut writer) = near.split();
        writer.close().await?;
        assert_eq!(far.read(&mut [0]).await?, 0);
        assert_eq!(writer.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    });
}

#[test]
fn a_forgotten_writer_ends_nothing() {
    let _dog = Watchdog::start(60);
    on_a_machine(|| async {
        let (near, mut far) = tcp().await?;
        let (reader, writer) = near.split();
        writer.forget();
        reader.as_ref().write_all(b"x").await?;
        drop(reader);
        let mut received = Vec::new();
        far.read_to_end(&mut received).await?;
        assert_eq!(received, b"x", "and the connection ends with the other half");
        Ok(())
    });
}

#[test]
fn halves_of_one_connection_are_reunited_and_others_are_given_back() {
    let _dog = Watchdog::start(60);
    on_a_machine(|| async {
        let ((one, mut far), (other, _far)) = (tcp().await?, tcp().await?);
        let own = one.local_addr()?;
        let ((reader, writer), (other_reader, other_writer)) = (one.split(), other.split());
        let ReuniteError(reader, other_writer) = reader.reunite(other_writer).unwrap_err();
        assert_eq!((reader.as_ref().local_addr()?, writer.as_ref().local_addr()?), (own, own));
        let mut one = reader.reunite(writer).unwrap();
        assert!(other_reader.reunite(other_writer).is_ok());
        one.write_all(b"still open").await?;
        one.close().await?;
        let mut received = String::new();
        far.read_to_string(&mut received).await?;
        assert_eq!(received, "still open");
        Ok(())
    });
}
