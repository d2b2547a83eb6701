//! A registered value, which tasks wait for.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::attempt::Next;
use crate::driver::{Driver, Registration};
use crate::event::Direction;
use crate::kind::Kind;
use crate::ready::Ready;
use crate::sys::{Owned, Pollable, Source, borrow};
use crate::waiters::SlotId;

/// A value with a file descriptor, which tasks wait for instead of blocking their thread.
///
/// It belongs to a pool, whose threads wait for its events. Tasks of any other pool or executor may use it as well.
///
/// The value is inside and lent by `&` only, so it can't be closed or replaced while it is watched. There is no
/// `get_mut` for this reason; [`into_inner`](Self::into_inner) ends the registration first.
///
/// `AsyncRead` and `AsyncWrite` are implemented if `&T` is [`Read`](io::Read) or [`Write`](io::Write). A value that reads
/// by `&mut` only, such as a child's standard output, must be turned into a [`File`](std::fs::File) first, by the
/// [`OwnedFd`](std::os::fd::OwnedFd). An operation on an empty buffer may wait like any other.
///
/// Several tasks may wait in the same direction, and an event wakes all of them. Futures (`readable`, `read_with`, `accept`) have
/// a slot each for their waker, until they are dropped. The `poll_` methods, which `AsyncRead` and `AsyncWrite` use as well, keep the
/// waker of each calling task until the next event, even if the task has ended before.
///
/// ```compile_fail,E0505
/// # brigade::block_on(async {
/// let socket = brigade::io::UdpSocket::bind("127.0.0.1:0").await.unwrap();
/// let wait = socket.readable();
/// drop(socket); // a future waits for it
/// drop(wait);
/// # });
/// ```
///
/// ```compile_fail,E0507
/// # brigade::block_on(async {
/// let socket = brigade::io::UdpSocket::bind("127.0.0.1:0").await.unwrap();
/// drop(*socket.get_ref()); // it is watched
/// # });
/// ```
///
/// A borrowed value can't be registered: if the registration were forgotten, it could be closed while it is watched, and
/// another file could get its number. An [`Arc`] shares a value.
///
/// ```compile_fail,E0597
/// # brigade::block_on(async {
/// let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
/// std::mem::forget(brigade::io::Async::new(&socket).unwrap()); // `socket` is borrowed for `'static`
/// drop(socket);
/// # });
/// ```
///
/// After `mem::forget` the file stays open and registered for as long as the process lives.
///
/// In the child of a fork, making an `Async` and every operation that would wait fail with
/// [`NoDriver::Closed`](crate::NoDriver::Closed), and a drop takes nothing from the parent. See [`Driver`] for when a fork is
/// detected.
pub struct Async<T> {
    /// The value, which is watched until it leaves this field. Dropped first: a source unknown to the driver would be
    /// reported again and again.
    owned: Owned<T>,
    registration: Registration,
}

impl<T: Pollable + 'static> Async<T> {
    /// Registers a value with the pool of the thread, and sets it to non-blocking.
    ///
    /// It is the pool that the thread has entered, or the worker's. A socket of the standard library may be created and
    /// configured before: `TcpListener::new(listener)`. Without a pool the value is registered with the [current
    /// driver](Driver::current).
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver) if there is no pool, if it has ended, or if it belongs to the parent process. On Linux
    /// [`Unsupported`](io::ErrorKind::Unsupported) for a regular file, a directory or a device like `/dev/null`: these are always
    /// ready, so there is nothing to wait for. Other errors are the system's. The value is dropped then, and the file is as
    /// blocking as it was.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use brigade::io::Async;
    /// let file = std::fs::File::open(std::env::current_exe()?)?;
    /// let error = brigade::block_on(async { Async::new(file) }).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// ```
    /// use std::os::unix::net::UnixDatagram;
    /// use brigade::io::Async;
    ///
    /// brigade::block_on(async {
    ///     let (near, far) = UnixDatagram::pair()?;
    ///     let (near, far) = (Async::new(near)?, Async::new(far)?);
    ///     far.write_with(|socket| socket.send(b"here")).await?;
    ///     let mut received = [0; 16];
    ///     assert_eq!(near.read_with(|socket| socket.recv(&mut received)).await?, 4);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new(io: T) -> io::Result<Self> {
        Self::with_driver(&Driver::current()?, io)
    }

    /// Registers a value with this driver, and sets it to non-blocking.
    ///
    /// For schedulers with their own driver; in a pool, [`new`](Self::new) uses the pool's.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), except for the missing driver.
    pub fn with_driver(driver: &Arc<Driver>, io: T) -> io::Result<Self> {
        let kind = Kind::of(&io);
        Self::register(driver, io, kind)
    }

    pub(crate) fn register(driver: &Arc<Driver>, io: T, kind: Kind) -> io::Result<Self> {
        driver.check_process()?;
        let owned = Owned::new(io, Arc::clone(driver.poller()), kind.mode(driver.poller()));
        // Before it is added: an edge in between would be lost.
        let registration = driver.register(owned.source())?;
        owned.add(registration.key())?;
        // Only then: the file may be shared, for example with the parent process, and blocks there if it can't be added.
        rustix::io::ioctl_fionbio(borrow(owned.get()), true)?;
        Ok(Self { registration, owned })
    }
}

impl<T> AsRef<T> for Async<T> {
    fn as_ref(&self) -> &T {
        self.get_ref()
    }
}

#[cfg(unix)]
impl<T: std::os::fd::AsFd> std::os::fd::AsFd for Async<T> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T> Async<T> {
    /// Returns the value, as [`AsRef`] does. On Unix, [`AsFd`](std::os::fd::AsFd) lends its file descriptor.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::fd::{AsFd, AsRawFd};
    /// let (near, _far) = std::os::unix::net::UnixStream::pair()?;
    /// let near = brigade::default_pool().enter(|| brigade::io::Async::new(near))?;
    /// assert_eq!(near.as_fd().as_raw_fd(), near.get_ref().as_raw_fd());
    /// assert!(std::ptr::eq(near.as_ref(), near.get_ref()));
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn get_ref(&self) -> &T {
        self.owned.get()
    }

    /// Ends the registration and returns the value, still non-blocking.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// brigade::block_on(async {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let socket: std::net::UdpSocket = socket.into_inner();
    ///     socket.set_broadcast(true)?;
    ///     assert!(UdpSocket::new(socket).is_ok(), "again");
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn into_inner(self) -> T {
        self.owned.into_inner()
    }

    /// Returns the driver of the value's pool.
    pub fn driver(&self) -> &Arc<Driver> {
        self.registration.driver()
    }

    /// Waits until there is something to read or to accept, the end of the stream, or an error.
    ///
    /// For operations of your own on [`get_ref`](Self::get_ref); [`read_with`](Self::read_with) is simpler. The operation
    /// may still block, as another task may be faster.
    ///
    /// # Errors
    /// [`NoDriver::Closed`](crate::NoDriver::Closed), or the error of the system if it can't wait for the value.
    ///
    /// # Cancel safety
    /// Dropping the future ends the wait and loses nothing.
    pub fn readable(&self) -> Ready<'_> {
        Ready::reported(self.source(), Direction::Read)
    }

    /// Waits until there is room to write, a connection is established, or there is an error.
    ///
    /// Otherwise as [`readable`](Self::readable).
    ///
    /// # Errors
    /// Those of [`readable`](Self::readable).
    pub fn writable(&self) -> Ready<'_> {
        Ready::reported(self.source(), Direction::Write)
    }

    /// The poll form of [`readable`](Self::readable). Call it when an operation would have blocked.
    ///
    /// An event is returned once: the next call waits for the next event. It wakes all waiting tasks.
    ///
    /// # Errors
    /// Those of [`readable`](Self::readable).
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_reported(Direction::Read, context)
    }

    /// The poll form of [`writable`](Self::writable), like [`poll_readable`](Self::poll_readable).
    ///
    /// # Errors
    /// Those of [`readable`](Self::readable).
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_reported(Direction::Write, context)
    }

    /// Tries a non-blocking operation until it doesn't fail with [`WouldBlock`](io::ErrorKind::WouldBlock), and waits
    /// to be [readable](Self::readable) in between.
    ///
    /// # Errors
    /// Those of `operation`, except for [`Interrupted`](io::ErrorKind::Interrupted), after which it is tried again; those of
    /// [`readable`](Self::readable).
    ///
    /// # Cancel safety
    /// If the future is dropped, `operation` has not succeeded.
    ///
    /// ```
    /// use brigade::io::UdpSocket;
    /// brigade::block_on(async {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let own = socket.local_addr()?;
    ///     socket.write_with(|socket| socket.send_to(b"datagram", own)).await?;
    ///     assert_eq!(socket.read_with(|socket| socket.recv(&mut [0; 16])).await?, 8);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn read_with<R>(&self, operation: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.source().attempt(Direction::Read, self.get_ref(), operation).await
    }

    /// Like [`read_with`](Self::read_with), but waits to be [writable](Self::writable).
    ///
    /// An unconnected Unix datagram socket counts as writable even if the receiver's queue is full: on Linux a `send_to` is
    /// then tried again and again until there is room. A connected socket waits.
    ///
    /// # Errors
    /// Those of [`read_with`](Self::read_with).
    ///
    /// # Cancel safety
    /// If the future is dropped, `operation` has not succeeded.
    pub async fn write_with<R>(&self, operation: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.source().attempt(Direction::Write, self.get_ref(), operation).await
    }

    /// The same for the polling task. `next` turns a result into a hint for the next try.
    pub(crate) fn poll_with<R>(
        &self,
        direction: Direction,
        context: &Context<'_>,
        operation: impl FnMut(&T) -> io::Result<R>,
        next: impl FnOnce(&R) -> Next,
    ) -> Poll<io::Result<R>> {
        ready!(self.source().turns[direction].poll_begin(context));
        let wait = || self.source().poll_ready(direction, SlotId::Polled, context);
        self.source().poll_attempt(direction, self.get_ref(), operation, next, wait)
    }

    pub(crate) fn source(&self) -> &Source {
        self.owned.source()
    }
}

impl<T: fmt::Debug> fmt::Debug for Async<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Async")
            .field("io", self.get_ref())
            .field("readiness", &self.source().readiness)
            .finish_non_exhaustive()
    }
}

/// Both directions of a file, with each trigger: `tests/it` has no file that is reported by level and both read and
/// written.
#[cfg(all(test, unix, not(brigade_loom)))]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::task::Waker;
    use std::time::{Duration, Instant};

    use brigade_testkit::{WakeCounter, Watchdog, poll_once as poll};

    use super::*;

    const BY_LEVEL: Kind = Kind::PIPE;
    const BY_EDGE: Kind = Kind::STREAM;

    fn drive(driver: &Driver, timeout: Duration) -> usize {
        driver.drive(Some(timeout), &mut Waker::wake).unwrap()
    }

    /// A socket with a full buffer, reported by level or by edge, and the other end.
    fn full(driver: &Arc<Driver>, kind: Kind) -> (Async<UnixStream>, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let near = Async::register(driver, near, kind).unwrap();
        while near.get_ref().write(&[0; 4096]).is_ok() {}
        far.set_nonblocking(true).unwrap();
        (near, far)
    }

    /// Waits for room. An edge from before the buffer was full may be reported now, but no other.
    fn wait_for_room<'a>(near: &'a Async<UnixStream>, writes: &Arc<WakeCounter>) -> Ready<'a> {
        let mut writable = near.writable();
        if poll(&mut writable, writes).is_ready() {
            writable = near.writable();
            assert!(poll(&mut writable, writes).is_pending());
        }
        writable
    }

    #[test]
    fn readers_and_writers_wait_apart() {
        let _dog = Watchdog::start(60);
        for kind in [BY_LEVEL, BY_EDGE] {
            let driver = Driver::new().unwrap();
            let (near, mut far) = full(&driver, kind);
            let (reads, writes) = <(Arc<WakeCounter>, Arc<WakeCounter>)>::default();
            let mut readable = near.readable();
            drive(&driver, Duration::ZERO);
            assert!(poll(&mut readable, &reads).is_pending());
            let _writable = wait_for_room(&near, &writes);
            far.write_all(b"x").unwrap();
            assert_eq!(drive(&driver, Duration::ZERO), 1);
            assert_eq!((reads.wakes(), writes.wakes()), (1, 0));
            while far.read(&mut [0; 4096]).is_ok() {}
            assert_eq!(drive(&driver, Duration::ZERO), 1);
            assert_eq!((reads.wakes(), writes.wakes()), (1, 1));
        }
    }

    #[test]
    fn an_unawaited_event_leaves_the_other_direction() {
        let _dog = Watchdog::start(60);
        let timeout = Duration::from_millis(5);
        for kind in [BY_LEVEL, BY_EDGE] {
            let driver = Driver::new().unwrap();
            let (near, mut far) = full(&driver, kind);
            let (reads, writes) = <(Arc<WakeCounter>, Arc<WakeCounter>)>::default();
            let mut readable = near.readable();
            drive(&driver, Duration::ZERO);
            assert!(poll(&mut readable, &reads).is_pending());
            drop(readable);
            let _writable = wait_for_room(&near, &writes);
            far.write_all(b"x").unwrap();
            assert_eq!(drive(&driver, timeout), 0, "no task waits for it");
            // And no sleeping thread is told again.
            let begun = Instant::now();
            assert_eq!(drive(&driver, timeout), 0);
            assert!(begun.elapsed() >= timeout);
            // Until a reader waits again, beside the writer.
            let mut readable = near.readable();
            if poll(&mut readable, &reads).is_pending() {
                assert_eq!(drive(&driver, Duration::ZERO), 1);
                assert_eq!((reads.wakes(), writes.wakes()), (1, 0));
            }
            while far.read(&mut [0; 4096]).is_ok() {}
            assert_eq!(drive(&driver, Duration::ZERO), 1);
            assert_eq!(writes.wakes(), 1);
        }
    }
}
