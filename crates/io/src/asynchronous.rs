//! A value that is waited for.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::driver::{Driver, Trigger};
use crate::habit::Habit;
use crate::readiness::Readiness;
use crate::ready::Ready;
use crate::sys::{Owned, Pollable, Poller, Source, borrow};
use crate::waiting::{Direction, State};

/// A value with a file descriptor, which tasks wait for instead of blocking their thread.
///
/// The value is inside and lent by `&` only: it can't be closed or exchanged while the driver watches it. That's why there
/// is no `get_mut`; [`into_inner`](Self::into_inner) ends the registration first.
///
/// `AsyncRead` and `AsyncWrite` are there if `&T` is [`Read`](io::Read) or [`Write`](io::Write). A value that reads only by
/// `&mut`, as a child's standard output, goes into a [`File`](std::fs::File) first, by its
/// [`OwnedFd`](std::os::fd::OwnedFd).
///
/// Each direction has one place for the task that calls a `poll_` method, which is also what `AsyncRead` and `AsyncWrite`
/// use. Two tasks may share it, but they wake each other then; futures (`readable`, `read_with`, `accept`) have a
/// place each.
///
/// ```compile_fail,E0505
/// # use brigade_io::{Async, Driver};
/// # let driver = Driver::new().unwrap();
/// let socket = Async::with_driver(&driver, std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
/// let wait = socket.readable();
/// drop(socket); // somebody waits for it
/// drop(wait);
/// ```
///
/// ```compile_fail,E0507
/// # use brigade_io::{Async, Driver};
/// # let driver = Driver::new().unwrap();
/// let socket = Async::with_driver(&driver, std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
/// drop(*socket.get_ref()); // it is watched
/// ```
///
/// In the child of a `fork` that a pool of brigade's has noticed, what would have to wait fails with
/// [`NoDriver::Closed`](crate::NoDriver::Closed), and dropping one takes nothing from the parent.
///
/// `mem::forget` of one leaves its file open and registered for as long as the process lives.
pub struct Async<T> {
    /// Dropped first: from then on the driver knows nothing of the source.
    registration: Registration,
    /// The value; its file is watched no longer when it gets away from here.
    owned: Owned<T>,
    /// Whether a short read or write proves that the next one would block.
    pub(crate) drains: bool,
    /// Whether the kernel tells again of what is left.
    pub(crate) asks_again: bool,
    /// What to expect after a full buffer.
    pub(crate) habit: Habit,
}

/// A place in the driver's table.
struct Registration {
    driver: Arc<Driver>,
    key: usize,
}

impl Drop for Registration {
    fn drop(&mut self) {
        // In a forked child: who knows who held the lock of the table.
        if !self.driver.is_here() {
            return;
        }
        let source = self.driver.with_table(|table| table.remove(self.key));
        // Dropping wakers is user code, and no lock is held here.
        drop(source.map(|source| source.take_wakers()));
    }
}

/// What a value is like.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// Bytes without borders, of which a short read or write takes all there are.
    pub(crate) stream: bool,
    /// What many tasks on several threads wait for at a time.
    pub(crate) socket: bool,
    /// Not usable before the first event.
    pub(crate) connecting: bool,
}

impl Kind {
    /// Asks the system.
    fn of<T: Pollable>(io: &T) -> Self {
        match rustix::net::sockopt::socket_type(borrow(io)) {
            Ok(rustix::net::SocketType::STREAM) => Self::STREAM,
            Ok(_) => Self { socket: true, ..Self::ANY },
            Err(_) => Self::ANY,
        }
    }

    /// Whatever a user brings.
    pub(crate) const ANY: Self = Self { stream: false, socket: false, connecting: false };
    /// A pipe.
    pub(crate) const PIPE: Self = Self { stream: true, socket: false, connecting: false };
    /// A connection.
    pub(crate) const STREAM: Self = Self { stream: true, socket: true, connecting: false };
    /// A connection that is being made.
    pub(crate) const CONNECTING: Self = Self { stream: true, socket: true, connecting: true };
}

impl<T: Pollable> Async<T> {
    /// Registers a value with the [current](Driver::current) driver, and sets it to non-blocking.
    ///
    /// # Errors
    /// [`NoDriver`](crate::NoDriver) if there is no driver; the system's if the value can't be waited for, like a regular
    /// file. The value is dropped then.
    ///
    /// ```
    /// use brigade_io::{Async, Driver};
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let driver = Driver::new()?;
    /// let (near, far) = UnixStream::pair()?;
    /// let (mut near, mut far) = driver.enter(|| std::io::Result::Ok((Async::new(near)?, Async::new(far)?)))?;
    /// let received = future::block_on(async {
    ///     far.write_all(b"here").await?; // there is room, so nobody has to drive
    ///     let mut received = [0; 4];
    ///     near.read_exact(&mut received).await?;
    ///     std::io::Result::Ok(received)
    /// })?;
    /// assert_eq!(&received, b"here");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new(io: T) -> io::Result<Self> {
        Self::with_driver(&Driver::current()?, io)
    }

    /// Registers a value with this driver, and sets it to non-blocking.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), but for the missing driver.
    pub fn with_driver(driver: &Arc<Driver>, io: T) -> io::Result<Self> {
        let kind = Kind::of(&io);
        Self::register(driver, io, kind)
    }

    pub(crate) fn register(driver: &Arc<Driver>, io: T, kind: Kind) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(borrow(&io), true)?;
        let state = State::new(driver.trigger(), kind.socket);
        let trigger = state.trigger();
        let guess = !kind.connecting;
        let readiness = [Readiness::new(guess), Readiness::new(guess)];
        let owned = Owned::new(io, Arc::clone(driver.poller()), readiness, state);
        // Before it is watched: an edge that came in between would be lost.
        let key = driver.with_table(|table| table.insert(Arc::clone(owned.source())))?;
        let registration = Registration { driver: Arc::clone(driver), key };
        owned.add(key, State::first_asked(trigger))?;
        // By level the next wait asks the system again, whatever was thought.
        let asks_again = trigger != Trigger::Edge;
        let drains = asks_again || (kind.stream && Poller::TELLS_THE_END);
        Ok(Self { registration, owned, drains, asks_again, habit: Habit::new() })
    }
}

impl<T> Async<T> {
    /// The value.
    pub fn get_ref(&self) -> &T {
        self.owned.get()
    }

    /// Ends the registration and gives the value back, still non-blocking.
    ///
    /// ```
    /// use std::net::UdpSocket;
    /// use brigade_io::{Async, Driver};
    /// let driver = Driver::new()?;
    /// let socket = Async::with_driver(&driver, UdpSocket::bind("127.0.0.1:0")?)?;
    /// let socket: UdpSocket = socket.into_inner();
    /// assert_eq!(driver.sources(), 0);
    /// assert!(Async::with_driver(&driver, socket).is_ok(), "again");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn into_inner(self) -> T {
        let Self { registration, owned, .. } = self;
        drop(registration);
        owned.into_inner()
    }

    /// The driver it is registered with.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.registration.driver
    }

    /// Waits until there is something to read or accept, the end of it, or an error.
    ///
    /// For operations of your own on [`get_ref`](Self::get_ref); [`read_with`](Self::read_with) is simpler. It may be
    /// early: another task may be quicker.
    ///
    /// # Errors
    /// [`NoDriver::Closed`](crate::NoDriver::Closed), or the system's if it can't wait for the value.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting and loses nothing.
    pub fn readable(&self) -> Ready<'_> {
        Ready::precise(self.source(), Direction::Read)
    }

    /// Waits until there is room to write, a connection is made, or there is an error.
    ///
    /// The rest is as with [`readable`](Self::readable).
    ///
    /// # Errors
    /// Those of [`readable`](Self::readable).
    pub fn writable(&self) -> Ready<'_> {
        Ready::precise(self.source(), Direction::Write)
    }

    /// Asks for what [`readable`](Self::readable) waits for. Call it when an operation would have blocked.
    ///
    /// Readiness is told once: the next call waits for the next event. Of two tasks that call it the one before is
    /// woken.
    ///
    /// # Errors
    /// Those of [`readable`](Self::readable).
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_told(Direction::Read, context)
    }

    /// Asks for what [`writable`](Self::writable) waits for, as [`poll_readable`](Self::poll_readable) does.
    ///
    /// # Errors
    /// Those of [`readable`](Self::readable).
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_told(Direction::Write, context)
    }

    /// Tries a non-blocking operation until it doesn't fail with [`WouldBlock`](io::ErrorKind::WouldBlock), and waits
    /// to be [readable](Self::readable) in between.
    ///
    /// # Errors
    /// Those of `operation`, except for [`Interrupted`](io::ErrorKind::Interrupted), after which it is tried again; those of
    /// [`readable`](Self::readable).
    ///
    /// # Cancel safety
    /// If the future is dropped `operation` has not succeeded.
    ///
    /// ```
    /// use brigade_io::{Async, Driver};
    /// use futures_lite::future;
    /// let driver = Driver::new()?;
    /// let socket = Async::with_driver(&driver, std::net::UdpSocket::bind("127.0.0.1:0")?)?;
    /// let own = socket.get_ref().local_addr()?;
    /// let length = future::block_on(async {
    ///     socket.write_with(|socket| socket.send_to(b"datagram", own)).await?;
    ///     socket.read_with(|socket| socket.recv(&mut [0; 16])).await
    /// })?;
    /// assert_eq!(length, 8);
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn read_with<R>(&self, operation: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.attempt(Direction::Read, operation).await
    }

    /// Does what [`read_with`](Self::read_with) does, and waits to be [writable](Self::writable).
    ///
    /// # Errors
    /// Those of [`read_with`](Self::read_with).
    ///
    /// # Cancel safety
    /// If the future is dropped `operation` has not succeeded.
    pub async fn write_with<R>(&self, operation: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.attempt(Direction::Write, operation).await
    }

    pub(crate) fn readiness(&self, direction: Direction) -> &Readiness {
        &self.source().readiness[direction as usize]
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
