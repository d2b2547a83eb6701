//! Reads that return less than their buffer holds although more is there.

use std::io;
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use brigade_io::Async;
use brigade_testkit::test;
use futures_lite::{AsyncRead, AsyncReadExt};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};

use crate::machine::on_a_machine;

/// Reads one byte, and the next, which came with the same event.
async fn read_two(mut near: impl AsyncRead + Unpin) -> io::Result<[u8; 2]> {
    let (mut first, mut second) = ([0; 16], [0; 16]);
    assert_eq!(near.read(&mut first).await?, 1);
    assert_eq!(near.read(&mut second).await?, 1);
    Ok([first[0], second[0]])
}

#[test]
fn bytes_after_urgent_data_are_read() {
    on_a_machine(|| async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let far = TcpStream::connect(listener.local_addr()?)?;
        far.set_nodelay(true)?;
        let near = Async::new(listener.accept()?.0)?;
        send(&far, b"a", SendFlags::empty())?;
        send(&far, b"!", SendFlags::OOB)?;
        send(&far, b"b", SendFlags::empty())?;
        near.readable().await?;
        assert_eq!(read_two(&near).await?, *b"ab");
        drop(far);
        Ok(())
    });
}

#[test]
fn bytes_beside_a_descriptor_are_read() {
    on_a_machine(|| async {
        let (near, far) = UnixStream::pair()?;
        let near = Async::new(near)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut passed = SendAncillaryBuffer::new(&mut space);
        let files = [rustix::fd::AsFd::as_fd(&far)];
        assert!(passed.push(SendAncillaryMessage::ScmRights(&files)));
        sendmsg(&far, &[io::IoSlice::new(b"a")], &mut passed, SendFlags::empty())?;
        send(&far, b"b", SendFlags::empty())?;
        near.readable().await?;
        assert_eq!(read_two(&near).await?, *b"ab");
        drop(far);
        Ok(())
    });
}
