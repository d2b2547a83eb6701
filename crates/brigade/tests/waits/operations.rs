//! Loops of one operation of I/O each, which succeeds or fails every time: all end, and keep no other work waiting.

use std::fs::remove_file;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net as unix;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{env, process};

use brigade::io::{
    Async, PipeReader, PipeWriter, TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream, fs,
};
use brigade::time::{Elapsed, sleep, timeout};
use brigade::{LocalPool, Pool, Shutdown, block_on};
use brigade_testkit::eventually;
use futures_lite::{AsyncRead, AsyncWrite};

use crate::run::Case;

type Operation = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Makes operations, one after the other.
type Operations = Box<dyn FnMut() -> Operation + Send>;

/// Makes operations which all succeed, or all fail. It is called by a job of the pool.
type Make = fn() -> io::Result<Operations>;

struct Row {
    /// The functions of docs/verbs.txt that the operation calls.
    functions: &'static [&'static str],
    succeeds: Option<Make>,
    fails: Option<Make>,
}

const fn row(functions: &'static [&'static str], succeeds: Make, fails: Make) -> Row {
    Row { functions, succeeds: Some(succeeds), fails: Some(fails) }
}

/// The functions with a row, and those that call one of these.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|row| row.functions).chain(OTHER_NAMES).copied()
}

/// The same for hyper.
const OTHER_NAMES: &[&str] = &[
    "<brigade_io::Async<T> as Read>::poll_read",
    "<brigade_io::Async<T> as Write>::poll_flush",
    "<brigade_io::Async<T> as Write>::poll_shutdown",
    "<brigade_io::Async<T> as Write>::poll_write",
    "<brigade_io::Async<T> as Write>::poll_write_vectored",
];

/// Operations on a value that they share.
fn on<T, F, R>(it: T, call: fn(Arc<T>) -> F) -> io::Result<Operations>
where
    T: Send + Sync + 'static,
    F: Future<Output = io::Result<R>> + Send + 'static,
{
    let it = Arc::new(it);
    Ok(Box::new(move || {
        let called = call(it.clone());
        Box::pin(async { called.await.map(drop) })
    }))
}

type Poller<T, R> = fn(Pin<&mut T>, &mut Context<'_>) -> Poll<io::Result<R>>;

/// The same by a `poll_` method.
fn polled<T: Send + Unpin + 'static, R: 'static>(
    it: T,
    call: Poller<T, R>,
) -> io::Result<Operations> {
    let it = Arc::new(Mutex::new(it));
    Ok(Box::new(move || {
        let it = it.clone();
        Box::pin(poll_fn(move |context| {
            call(Pin::new(&mut *it.lock().unwrap()), context).map_ok(drop)
        }))
    }))
}

const LOCAL: &str = "127.0.0.1:0";
const NO_ADDRESS: &[SocketAddr] = &[];

/// A socket that is not connected and never will be: it is a listener.
fn unconnected() -> io::Result<OwnedFd> {
    net::TcpListener::bind(LOCAL).map(OwnedFd::from)
}

fn broken_stream() -> io::Result<TcpStream> {
    TcpStream::new(unconnected()?.into())
}

fn broken_datagrams() -> io::Result<UdpSocket> {
    UdpSocket::new(unconnected()?.into())
}

/// A socket that is connected to itself.
fn datagrams() -> io::Result<UdpSocket> {
    let socket = net::UdpSocket::bind(LOCAL)?;
    socket.connect(socket.local_addr()?)?;
    UdpSocket::new(socket)
}

/// A connection whose other end is gone: there is an end to be read, and no byte can be written.
fn ended() -> io::Result<UnixStream> {
    UnixStream::new(unix::UnixStream::pair()?.0)
}

/// A connection whose other end stays open.
fn open() -> io::Result<UnixStream> {
    let (near, far) = unix::UnixStream::pair()?;
    std::mem::forget(far);
    UnixStream::new(near)
}

/// A connection whose pool has ended. The pool may have been told before that there is room.
fn closed() -> io::Result<UnixStream> {
    let near = Pool::new(1).enter(open)?;
    futures_lite::future::block_on(async { while near.writable().await.is_ok() {} });
    Ok(near)
}

/// A type of a user, all of whose operations fail.
struct Broken(unix::UnixStream);

impl Broken {
    fn registered() -> io::Result<Async<Self>> {
        Async::new(Self(unix::UnixStream::pair()?.0))
    }
}

impl AsFd for Broken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn broken<R>() -> io::Result<R> {
    Err(io::ErrorKind::InvalidData.into())
}

impl Read for &Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        broken()
    }
}

impl Write for &Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        broken()
    }

    fn flush(&mut self) -> io::Result<()> {
        broken()
    }
}

fn leaked<T>(it: T) -> &'static T {
    Box::leak(Box::new(it))
}

fn pipe_with_an_end() -> io::Result<PipeReader> {
    brigade::io::pipe().map(|(reader, _)| reader)
}

/// The reader is leaked, so that it is not gone.
fn open_pipe() -> io::Result<PipeWriter> {
    let (reader, writer) = brigade::io::pipe()?;
    std::mem::forget(reader);
    Ok(writer)
}

fn poll_closed_pipe<R>(
    mut writer: Pin<&mut PipeWriter>,
    context: &mut Context<'_>,
    call: Poller<PipeWriter, R>,
) -> Poll<io::Result<R>> {
    match writer.as_mut().poll_close(context)? {
        Poll::Ready(()) => call(writer, context),
        Poll::Pending => Poll::Pending,
    }
}

fn a_read<T: AsyncRead>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    it.poll_read(context, &mut [0])
}

fn reads<T: AsyncRead>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    it.poll_read_vectored(context, &mut [IoSliceMut::new(&mut [0])])
}

/// Of no byte, as there is always room for that.
fn a_write<T: AsyncWrite>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    it.poll_write(context, &[])
}

/// Of a byte, as it must fail.
fn a_byte<T: AsyncWrite>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    it.poll_write(context, &[0])
}

fn writes<T: AsyncWrite>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    it.poll_write_vectored(context, &[])
}

fn bytes<T: AsyncWrite>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
    it.poll_write_vectored(context, &[IoSlice::new(&[0])])
}

fn a_flush<T: AsyncWrite>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
    it.poll_flush(context)
}

fn a_close<T: AsyncWrite>(it: Pin<&mut T>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
    it.poll_close(context)
}

/// A path that is removed in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(env::temp_dir().join(format!("brigade-operations-{}-{number}", process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = remove_file(&self.0);
    }
}

const NO_FILE: &str = "/there/is/no/such/file";

static ROWS: &[Row] = &[
    row(
        &["brigade::io::fs::metadata"],
        || on((), |_| fs::metadata("/")),
        || on((), |_| fs::metadata(NO_FILE)),
    ),
    row(&["brigade::io::fs::open"], || on((), |_| fs::open("/")), || on((), |_| fs::open(NO_FILE))),
    row(
        &["brigade::io::fs::read"],
        || on((), |_| fs::read("Cargo.toml")),
        || on((), |_| fs::read(NO_FILE)),
    ),
    row(
        &["brigade::io::fs::read_to_string"],
        || on((), |_| fs::read_to_string("Cargo.toml")),
        || on((), |_| fs::read_to_string(NO_FILE)),
    ),
    row(
        &["brigade::io::fs::write"],
        || on(Temporary::new(), |it| async move { fs::write(&it.0, "").await }),
        || on((), |_| fs::write(NO_FILE, "")),
    ),
    row(
        &["brigade_io::Async<T>::readable", "<brigade_io::Ready<'_> as Future>::poll"],
        || on(ended()?, |it| async move { it.readable().await }),
        || on(closed()?, |it| async move { it.readable().await }),
    ),
    row(
        &["brigade_io::Async<T>::writable"],
        || on(open()?, |it| async move { it.writable().await }),
        || on(closed()?, |it| async move { it.writable().await }),
    ),
    row(
        &["brigade_io::Async<T>::poll_readable"],
        || polled(ended()?, |it, context| it.poll_readable(context)),
        || polled(closed()?, |it, context| it.poll_readable(context)),
    ),
    row(
        &["brigade_io::Async<T>::poll_writable"],
        || polled(open()?, |it, context| it.poll_writable(context)),
        || polled(closed()?, |it, context| it.poll_writable(context)),
    ),
    row(
        &["brigade_io::Async<T>::read_with"],
        || on(open()?, |it| async move { it.read_with(|_| Ok(())).await }),
        || on(open()?, |it| async move { it.read_with(|_| broken::<()>()).await }),
    ),
    row(
        &["brigade_io::Async<T>::write_with"],
        || on(open()?, |it| async move { it.write_with(|_| Ok(())).await }),
        || on(open()?, |it| async move { it.write_with(|_| broken::<()>()).await }),
    ),
    row(
        &["brigade_io::Async<std::net::TcpListener>::accept"],
        || {
            on(TcpListener::new(net::TcpListener::bind(LOCAL)?)?, |it| async move {
                let _client = net::TcpStream::connect(it.local_addr()?)?;
                it.accept().await
            })
        },
        || {
            let other = OwnedFd::from(net::UdpSocket::bind(LOCAL)?);
            on(TcpListener::new(other.into())?, |it| async move { it.accept().await })
        },
    ),
    row(
        &["brigade_io::Async<std::net::TcpListener>::bind"],
        || on((), |_| TcpListener::bind(LOCAL)),
        || {
            on(net::TcpListener::bind(LOCAL)?, |it| async move {
                TcpListener::bind(it.local_addr()?).await
            })
        },
    ),
    row(
        &["brigade_io::Async<std::net::TcpStream>::connect"],
        || {
            on(net::TcpListener::bind(LOCAL)?, |it| async move {
                TcpStream::connect(it.local_addr()?).await?;
                it.accept()
            })
        },
        || on((), |_| TcpStream::connect(NO_ADDRESS)),
    ),
    row(
        &["brigade_io::Async<std::net::TcpStream>::peek"],
        || {
            let listener = net::TcpListener::bind(LOCAL)?;
            let client = net::TcpStream::connect(listener.local_addr()?)?;
            drop(listener.accept()?); // There is an end to be read.
            on(TcpStream::new(client)?, |it| async move { it.peek(&mut [0]).await })
        },
        || on(broken_stream()?, |it| async move { it.peek(&mut [0]).await }),
    ),
    row(
        &["brigade_io::Async<std::net::UdpSocket>::bind"],
        || on((), |_| UdpSocket::bind(LOCAL)),
        || {
            on(
                net::UdpSocket::bind(LOCAL)?,
                |it| async move { UdpSocket::bind(it.local_addr()?).await },
            )
        },
    ),
    row(
        &["brigade_io::Async<std::net::UdpSocket>::connect"],
        || on(datagrams()?, |it| async move { it.connect(it.local_addr()?).await }),
        || on(datagrams()?, |it| async move { it.connect(NO_ADDRESS).await }),
    ),
    row(
        &["brigade_io::Async<std::net::UdpSocket>::recv"],
        || {
            on(datagrams()?, |it| async move {
                it.get_ref().send(&[0])?;
                it.recv(&mut [0]).await
            })
        },
        || on(broken_datagrams()?, |it| async move { it.recv(&mut [0]).await }),
    ),
    row(
        &["brigade_io::Async<std::net::UdpSocket>::recv_from"],
        || {
            on(datagrams()?, |it| async move {
                it.get_ref().send(&[0])?;
                it.recv_from(&mut [0]).await
            })
        },
        || on(broken_datagrams()?, |it| async move { it.recv_from(&mut [0]).await }),
    ),
    row(
        &["brigade_io::Async<std::net::UdpSocket>::send"],
        || on(datagrams()?, |it| async move { it.send(&[0]).await }),
        || on(datagrams()?, |it| async move { it.send(&[0; 70_000]).await }),
    ),
    row(
        &["brigade_io::Async<std::net::UdpSocket>::send_to"],
        || on(datagrams()?, |it| async move { it.send_to(&[0], it.local_addr()?).await }),
        || on(datagrams()?, |it| async move { it.send_to(&[0], NO_ADDRESS).await }),
    ),
    row(
        &["brigade_io::Async<std::os::unix::net::listener::UnixListener>::accept"],
        || {
            let path = Temporary::new();
            let listener = UnixListener::bind(&path.0)?;
            on((listener, path), |it| async move {
                let _client = unix::UnixStream::connect(&it.1.0)?;
                it.0.accept().await
            })
        },
        || {
            let other = OwnedFd::from(net::UdpSocket::bind(LOCAL)?);
            on(UnixListener::new(other.into())?, |it| async move { it.accept().await })
        },
    ),
    row(
        &["brigade_io::Async<std::os::unix::net::stream::UnixStream>::connect"],
        || {
            let path = Temporary::new();
            on((unix::UnixListener::bind(&path.0)?, path), |it| async move {
                UnixStream::connect(&it.1.0).await?;
                it.0.accept()
            })
        },
        || on((), |_| UnixStream::connect(NO_FILE)),
    ),
    row(
        &["<brigade_io::Async<T> as AsyncRead>::poll_read"],
        || polled(ended()?, a_read),
        || polled(broken_stream()?, a_read),
    ),
    row(
        &["<brigade_io::Async<T> as AsyncRead>::poll_read_vectored"],
        || polled(ended()?, reads),
        || polled(Broken::registered()?, reads),
    ),
    row(
        &["<brigade_io::Async<T> as AsyncWrite>::poll_write"],
        || polled(open()?, a_write),
        || polled(ended()?, a_byte),
    ),
    row(
        &["<brigade_io::Async<T> as AsyncWrite>::poll_write_vectored"],
        || polled(open()?, writes),
        || polled(Broken::registered()?, bytes),
    ),
    row(
        &["<brigade_io::Async<T> as AsyncWrite>::poll_flush"],
        || polled(open()?, a_flush),
        || polled(Broken::registered()?, a_flush),
    ),
    row(
        &["<brigade_io::Async<T> as AsyncWrite>::poll_close"],
        || polled(open()?, a_close),
        || polled(Broken::registered()?, a_close),
    ),
    row(
        &["<&brigade_io::Async<T> as AsyncRead>::poll_read"],
        || polled(leaked(ended()?), a_read),
        || polled(leaked(broken_stream()?), a_read),
    ),
    row(
        &["<&brigade_io::Async<T> as AsyncRead>::poll_read_vectored"],
        || polled(leaked(ended()?), reads),
        || polled(leaked(broken_stream()?), reads),
    ),
    row(
        &["<&brigade_io::Async<T> as AsyncWrite>::poll_write"],
        || polled(leaked(open()?), a_write),
        || polled(leaked(ended()?), a_byte),
    ),
    row(
        &["<&brigade_io::Async<T> as AsyncWrite>::poll_write_vectored"],
        || polled(leaked(open()?), writes),
        || polled(leaked(ended()?), bytes),
    ),
    row(
        &["<&brigade_io::Async<T> as AsyncWrite>::poll_flush"],
        || polled(leaked(open()?), a_flush),
        || polled(leaked(Broken::registered()?), a_flush),
    ),
    row(
        &["<&brigade_io::Async<T> as AsyncWrite>::poll_close"],
        || polled(leaked(open()?), a_close),
        || polled(leaked(Broken::registered()?), a_close),
    ),
    row(
        &["<brigade_io::PipeReader as AsyncRead>::poll_read"],
        || polled(pipe_with_an_end()?, a_read),
        || polled(PipeReader::from_fd(unconnected()?)?, a_read),
    ),
    row(
        &["<brigade_io::PipeReader as AsyncRead>::poll_read_vectored"],
        || polled(pipe_with_an_end()?, reads),
        || polled(PipeReader::from_fd(unconnected()?)?, reads),
    ),
    row(
        &["<brigade_io::PipeWriter as AsyncWrite>::poll_write"],
        || polled(open_pipe()?, a_write),
        || polled(brigade::io::pipe()?.1, a_byte),
    ),
    row(
        &["<brigade_io::PipeWriter as AsyncWrite>::poll_write_vectored"],
        || polled(open_pipe()?, writes),
        || polled(open_pipe()?, |it, context| poll_closed_pipe(it, context, bytes)),
    ),
    Row {
        functions: &["<brigade_io::PipeWriter as AsyncWrite>::poll_flush"],
        succeeds: Some(|| polled(open_pipe()?, a_flush)),
        fails: None,
    },
    Row {
        functions: &["<brigade_io::PipeWriter as AsyncWrite>::poll_close"],
        succeeds: Some(|| polled(open_pipe()?, a_close)),
        fails: None,
    },
    row(
        &["<brigade_io::ReadHalf<S> as AsyncRead>::poll_read"],
        || polled(ended()?.split().0, a_read),
        || polled(broken_stream()?.split().0, a_read),
    ),
    row(
        &["<brigade_io::ReadHalf<S> as AsyncRead>::poll_read_vectored"],
        || polled(ended()?.split().0, reads),
        || polled(broken_stream()?.split().0, reads),
    ),
    row(
        &["<brigade_io::WriteHalf<S> as AsyncWrite>::poll_write"],
        || polled(open()?.split().1, a_write),
        || polled(ended()?.split().1, a_byte),
    ),
    row(
        &["<brigade_io::WriteHalf<S> as AsyncWrite>::poll_write_vectored"],
        || polled(open()?.split().1, writes),
        || polled(ended()?.split().1, bytes),
    ),
    Row {
        functions: &["<brigade_io::WriteHalf<S> as AsyncWrite>::poll_flush"],
        succeeds: Some(|| polled(open()?.split().1, a_flush)),
        fails: None,
    },
    Row {
        functions: &["<brigade_io::WriteHalf<S> as AsyncWrite>::poll_close"],
        succeeds: Some(|| polled(open()?.split().1, a_close)),
        fails: None,
    },
];

/// An endless loop.
#[derive(Clone)]
struct Loop {
    make: Make,
    fails: bool,
    /// How many operations there have been.
    ran: Arc<AtomicUsize>,
}

impl Loop {
    async fn run(self) {
        let mut operations = (self.make)().unwrap();
        loop {
            let outcome = operations().await;
            assert_eq!(outcome.is_err(), self.fails, "{outcome:?}");
            self.ran.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn limited(self) -> Result<(), Elapsed> {
        timeout(Duration::from_millis(1), self.run()).await
    }

    /// Waits until it has run for a while.
    fn await_begun(&self) {
        eventually("it runs", || self.ran.load(Ordering::Relaxed) > 3);
    }
}

/// How a loop ends, or the work that must go on beside it.
type End = fn(Loop) -> bool;

const ENDS: [(&str, End); 8] = [
    ("time limit", |it| Pool::new(1).spawn(it.limited()).join().unwrap() == Err(Elapsed)),
    ("cancel", |it| {
        let (pool, looks) = (Pool::new(1), it.clone());
        let job = pool.spawn(it.run());
        looks.await_begun();
        job.cancel() && job.join().unwrap_err().is_cancelled()
    }),
    ("Discard", |it| {
        let (pool, looks) = (Pool::new(1), it.clone());
        let job = pool.spawn(it.run());
        looks.await_begun();
        let report = pool.shutdown(Shutdown::Discard);
        report.still_running == 0 && job.join().unwrap_err().is_cancelled()
    }),
    ("drop", |it| {
        let (pool, looks) = (Pool::new(1), it.clone());
        let job = pool.spawn(it.run());
        looks.await_begun();
        drop(pool);
        job.join().unwrap_err().is_cancelled()
    }),
    ("neighbour's timer", |it| {
        beside(it, |pool| pool.spawn(sleep(Duration::from_millis(1))).join())
    }),
    ("neighbour's job", |it| beside(it, |pool| pool.submit(|| ()).join())),
    ("LocalPool", |it| LocalPool::new().unwrap().run_until(it.limited()) == Err(Elapsed)),
    ("block_on", |it| block_on(it.limited()) == Err(Elapsed)),
];

fn beside(it: Loop, work: fn(&Pool) -> Result<(), brigade::JoinError>) -> bool {
    let (pool, looks) = (Pool::new(1), it.clone());
    let job = pool.spawn(it.run());
    looks.await_begun();
    let is_done = work(&pool).is_ok();
    job.cancel() && is_done
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS {
        for (make, fails) in [(row.succeeds, false), (row.fails, true)] {
            for (name, end) in ENDS {
                let Some(make) = make else { continue };
                let outcome = if fails { "fails" } else { "succeeds" };
                let name = format!("{}, which {outcome}: {name}", row.functions[0]);
                let it = Loop { make, fails, ran: Arc::default() };
                cases.push(Case::new(name, move || {
                    if end(it) { Ok(()) } else { Err("another outcome".into()) }
                }));
            }
        }
    }
    cases
}
