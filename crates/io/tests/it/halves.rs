//! Connections in two halves.

use std::io;

use brigade_io::{TcpListener, TcpStream};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::on_a_machine;
use brigade_testkit::test;

async fn tcp() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    Ok((client, listener.accept().await?.0))
}

#[test]
fn the_halves_wait_apart() {
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
fn a_dropped_writer_ends_only_its_direction() {
    on_a_machine(|| async {
        let (near, mut far) = tcp().await?;
        let (mut reader, writer) = near.split();
        drop(writer);
        assert_eq!(far.read(&mut [0]).await?, 0);
        far.write_all(b"x").await?;
        assert_eq!(reader.read(&mut [0]).await?, 1);
        Ok(())
    });
    #[cfg(unix)]
    on_a_machine(|| async {
        let (near, mut far) = brigade_io::UnixStream::pair()?;
        let (mut reader, writer) = near.split();
        drop(writer);
        assert_eq!(far.read(&mut [0]).await?, 0);
        far.write_all(b"x").await?;
        assert_eq!(reader.read(&mut [0]).await?, 1);
        Ok(())
    });
}

#[test]
fn a_closed_writer_ends_its_side_at_once() {
    on_a_machine(|| async {
        let (near, mut far) = tcp().await?;
        let (_reader, mut writer) = near.split();
        writer.close().await?;
        assert_eq!(far.read(&mut [0]).await?, 0);
        let error = writer.write(b"x").await.unwrap_err();
        // The standard library has no kind for the error of Windows.
        assert!(cfg!(windows) || error.kind() == io::ErrorKind::BrokenPipe, "{error}");
        Ok(())
    });
}
