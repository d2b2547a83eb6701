//! A talk of two ends that brigade's own types are: both ends belong to one future.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{env, fs, process};

use crate::machine::{Faults, changed};
use brigade::io::{
    PipeReader, PipeWriter, TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream,
};
use brigade::time::timeout;
use brigade_sync::thread::yield_now;
use futures_lite::future::try_zip;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::FAULTS;
use crate::verb::{Failing, Link};
use crate::world::{World, micros};

/// The number of the next socket in the file system.
static NAMES: AtomicU64 = AtomicU64::new(0);

/// Tells the model of the kernel that ends have been closed.
struct Changed;

impl Drop for Changed {
    fn drop(&mut self) {
        changed();
    }
}

/// Writes so many bytes, in two parts, and ends the stream.
async fn write(mut to: impl AsyncWrite + Unpin, bytes: u8) -> io::Result<()> {
    let _closed = Changed;
    let all: Vec<u8> = (0..bytes).collect();
    let parts = all.split_at(all.len() / 2);
    let mut written = to.write_vectored(&[IoSlice::new(parts.0), IoSlice::new(parts.1)]).await?;
    changed();
    while written < all.len() {
        written += to.write(&all[written..]).await?;
        changed();
    }
    to.flush().await?;
    to.close().await
}

/// Reads them all.
async fn read(mut from: impl AsyncRead + Unpin, bytes: u8) -> io::Result<()> {
    let (mut all, mut one, mut two) = (Vec::<u8>::new(), [0; 7], [0; 100]);
    loop {
        let mut count =
            from.read_vectored(&mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)]).await?;
        if count == 0 {
            assert_eq!(all, (0..bytes).collect::<Vec<u8>>(), "other bytes");
            return Ok(());
        }
        all.extend(one.iter().chain(&two).take(count).copied());
        count = from.read(&mut one).await?;
        all.extend(&one[..count]);
        changed();
    }
}

async fn both<T>(
    one: impl Future<Output = io::Result<T>>,
    two: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    try_zip(one, two).await.map(drop)
}

/// A talk by halves, and then the other way round by the whole streams.
async fn through_unix(one: UnixStream, two: UnixStream, bytes: u8) -> io::Result<()> {
    let ((mut from, to), (other, back)) = (one.split(), two.split());
    both(write(to, bytes), read(other, bytes)).await?;
    both(write(back, bytes), read(&mut from, bytes)).await
}

async fn through_tcp(one: TcpStream, two: TcpStream, bytes: u8) -> io::Result<()> {
    one.set_nodelay(true)?;
    both(write(&one, bytes), async {
        let mut first = [7];
        let count = two.peek(&mut first).await?;
        assert!(first[..count].iter().all(|byte| *byte == 0), "another byte");
        read(&two, bytes).await
    })
    .await?;
    two.shutdown(Shutdown::Write)?;
    changed();
    read(one, 0).await
}

async fn through_udp(bytes: u8, is_connected: bool) -> io::Result<()> {
    let address = "127.0.0.1:0";
    let (one, two) = (UdpSocket::bind(address).await?, UdpSocket::bind(address).await?);
    let (all, to): (Vec<u8>, _) = ((0..bytes).collect(), two.local_addr()?);
    let mut buffer = [0; 256];
    let count = if is_connected {
        one.connect(to).await?;
        two.connect(one.local_addr()?).await?;
        one.send(&all).await?;
        changed();
        two.recv(&mut buffer).await?
    } else {
        one.send_to(&all, to).await?;
        changed();
        two.recv_from(&mut buffer).await?.0
    };
    assert_eq!(buffer[..count], all, "other bytes");
    Ok(())
}

async fn through_a_file(bytes: u8) -> io::Result<()> {
    let name = format!("brigade-{}-{}", process::id(), NAMES.fetch_add(1, Relaxed));
    let path = env::temp_dir().join(name);
    let listener = UnixListener::bind(&path)?;
    let connected = try_zip(listener.accept(), async {
        let stream = UnixStream::connect(&path).await;
        changed();
        stream
    });
    let connected = connected.await;
    fs::remove_file(&path)?;
    let ((one, _), two) = connected?;
    both(write(&one, bytes), read(&two, bytes)).await?;
    two.shutdown(Shutdown::Both)
}

/// Has two ends of such a kind talk.
pub(crate) async fn talk(world: &World, link: Link, bytes: u8) {
    let _closed = Changed;
    let talked = match link {
        Link::APair => match UnixStream::pair() {
            Ok((one, two)) => through_unix(one, two, bytes).await,
            Err(error) => Err(error),
        },
        Link::AFile => through_a_file(bytes).await,
        Link::ThroughTcp => through_listener(bytes).await,
        Link::Datagrams(is_connected) => through_udp(bytes, is_connected).await,
        Link::APipe => through_pipe(bytes).await,
        Link::Fails(failing, is_limited) if is_limited && world.is_sure() => {
            let endless = fail(failing, usize::MAX);
            timeout(micros(bytes.into()), endless).await.unwrap_or(Ok(()))
        }
        Link::Fails(failing, _) => fail(failing, bytes.into()).await,
    };
    // A faulty kernel has errors of its own, and a closed pool has no driver. Other programs may use all ports of the machine.
    let has_ports = !matches!(&talked, Err(error) if error.kind() == io::ErrorKind::AddrInUse);
    let is_sure = world.is_sure() && FAULTS.get() == Faults::None && has_ports;
    assert!(talked.is_ok() || !is_sure || world.is_closed(), "{talked:?}");
}

async fn through_listener(bytes: u8) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let connects = async {
        let stream = TcpStream::connect(address).await;
        changed();
        stream
    };
    let ((one, _), two) = try_zip(listener.accept(), connects).await?;
    through_tcp(one, two, bytes).await
}

async fn through_pipe(bytes: u8) -> io::Result<()> {
    let (reader, writer) = brigade::io::pipe()?;
    let gone = || io::Error::other("its pool has ended");
    let reader = PipeReader::from_fd(reader.into_fd())?;
    let writer = PipeWriter::from_fd(writer.into_fd().ok_or_else(gone)?)?;
    both(write(writer, bytes), read(reader, bytes)).await
}

/// Has an operation fail so many times.
async fn fail(failing: Failing, times: usize) -> io::Result<()> {
    const NOWHERE: &str = "/there/is/no/such/file";
    /// Calls the operation, which borrows what has been made before.
    macro_rules! fail {
        ($operation:expr) => {
            for _ in 0..times {
                assert!($operation.await.is_err(), "{failing:?}");
                // An operation takes no step while another thread unwinds, so time would stand still.
                yield_now();
            }
        };
    }
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = || net::TcpListener::bind(here);
    match failing {
        Failing::NoFile => fail!(brigade::io::fs::metadata(NOWHERE)),
        Failing::NoListener => fail!(UnixStream::connect(NOWHERE)),
        Failing::AddressInUse => {
            let user = listener()?;
            fail!(TcpListener::bind(user.local_addr()?));
        }
        Failing::NoReader => {
            let (mut near, far) = UnixStream::pair()?;
            drop(far);
            fail!(near.write(&[0]));
        }
        Failing::ClosedPipe => {
            let (_reader, mut writer) = brigade::io::pipe()?;
            writer.close().await?;
            fail!(writer.write(&[0]));
        }
        Failing::NotConnected => {
            let stream = TcpStream::new(OwnedFd::from(listener()?).into())?;
            fail!(stream.peek(&mut [0]));
        }
        Failing::TooLong => {
            let socket = UdpSocket::bind(here).await?;
            fail!(socket.send_to(&[0; 70_000], here));
        }
        Failing::OwnError => {
            let (near, _far) = UnixStream::pair()?;
            fail!(near.read_with(|_| Err::<(), _>(io::ErrorKind::InvalidData.into())));
        }
        Failing::NotListening => {
            let other = OwnedFd::from(net::UdpSocket::bind(here)?);
            let listener = TcpListener::new(other.into())?;
            fail!(listener.accept());
        }
    }
    Ok(())
}
