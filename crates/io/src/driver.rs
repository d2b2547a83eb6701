//! The driver: waits for all sources at once and wakes the waiting tasks.

use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::{Mutex, fork};

use crate::error::driver_closed;
use crate::event::Look;
use crate::poll_lock::PollLock;
use crate::scratch::Scratch;
use crate::state::FollowUp;
use crate::sys::{Events, Poller, Source};
use crate::table::Table;
use crate::wake_flag::WakeFlag;

/// Waits for all registered files in one call, and wakes the waiting tasks.
///
/// For authors of schedulers. A pool creates its driver together with its first I/O resource, and its workers drive it in
/// turn.
///
/// A driver starts no thread. An idle thread [drives](Self::drive) it, one thread at a time. The driver of a pool should be left
/// to the workers: while a foreign thread drives it, and up to 1 ms later, idle workers wait for no event.
///
/// # In a forked child
/// The driver of the parent process is closed there: registering, driving and waiting fail with
/// [`NoDriver::Closed`](crate::NoDriver::Closed), while [`notify`](Self::notify) and [`close`](Self::close) do nothing. No
/// call reaches the kernel objects shared by child and parent. The child may create another driver. A fork is
/// detected if the process had created a brigade pool before it.
///
/// # Examples
/// ```
/// # mod brigade { pub use brigade_io as io; }
/// use std::sync::Arc;
/// use std::time::Duration;
/// use brigade::io::{Driver, pipe};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
///
/// let driver = Driver::new()?;
/// let (mut reader, mut writer) = driver.enter(pipe)?;
/// let thread = std::thread::spawn({
///     let driver = Arc::clone(&driver);
///     move || {
///         while driver.drive(None, &mut |waker| waker.wake())? == 0 {}
///         std::io::Result::Ok(())
///     }
/// });
/// let byte = future::block_on(async {
///     let mut byte = [0];
///     future::zip(reader.read_exact(&mut byte), writer.write_all(&[7])).await;
///     byte[0]
/// });
/// assert_eq!(byte, 7);
/// # drop((reader, writer));
/// # driver.close(&mut |waker| waker.wake());
/// # drop(thread);
/// # std::io::Result::Ok(())
/// ```
pub struct Driver {
    /// The generation of the creating process.
    process: u32,
    /// Waits and reports; shared with the sources.
    poller: Arc<Poller>,
    /// Whether a wait must be ended.
    wake_flag: WakeFlag,
    /// Held by the polling thread.
    poll_lock: PollLock,
    /// The sources.
    table: Mutex<Table>,
    /// The number of sources, for reading without the lock.
    sources: AtomicUsize,
    /// Runs blocking code.
    blocking: fn(&mut dyn FnMut()),
}

impl Driver {
    /// Makes a driver.
    ///
    /// # Errors
    /// Those of the operating system: on Linux it needs two file descriptors.
    pub fn new() -> io::Result<Arc<Self>> {
        Self::with_blocking(|code| code())
    }

    /// Creates a driver that reports blocking code to the scheduler.
    ///
    /// Names are looked up on the thread of the connecting task. `blocking` runs such code there, and must call it once.
    /// In a pool, another thread runs jobs in the meantime.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use brigade::io::{Driver, TcpListener};
    /// use futures_lite::future;
    ///
    /// static LOOK_UPS: AtomicUsize = AtomicUsize::new(0);
    /// let driver = Driver::with_blocking(|code| {
    ///     LOOK_UPS.fetch_add(1, Ordering::Relaxed);
    ///     code();
    /// })?;
    /// driver.enter(|| {
    ///     future::block_on(TcpListener::bind("127.0.0.1:0"))?;
    ///     assert_eq!(LOOK_UPS.load(Ordering::Relaxed), 0, "it is an address");
    ///     future::block_on(TcpListener::bind("localhost:0"))?;
    ///     assert_eq!(LOOK_UPS.load(Ordering::Relaxed), 1);
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn with_blocking(blocking: fn(&mut dyn FnMut())) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            process: fork::generation(),
            poller: Arc::new(Poller::new()?),
            wake_flag: WakeFlag::default(),
            poll_lock: PollLock::default(),
            table: Mutex::default(),
            sources: AtomicUsize::new(0),
            blocking,
        }))
    }

    /// Returns the number of registered sources. Takes no lock.
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// let driver = brigade::io::Driver::new()?;
    /// let pipe = driver.enter(brigade::io::pipe)?;
    /// assert_eq!(driver.sources(), 2);
    /// drop(pipe);
    /// assert_eq!(driver.sources(), 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn sources(&self) -> usize {
        // Ordering: Relaxed; a thread that must see a registration has made it, or has synchronized with its maker.
        self.sources.load(Ordering::Relaxed)
    }

    /// Returns whether a thread is in [`drive`](Self::drive) and about to wait, waiting, or delivering events. Takes no lock.
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// let driver = brigade::io::Driver::new()?;
    /// assert!(!driver.is_driven());
    /// driver.notify();
    /// driver.drive(None, &mut |waker| waker.wake())?;
    /// assert!(!driver.is_driven());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn is_driven(&self) -> bool {
        self.poll_lock.is_locked()
    }

    /// Waits once, for at most `timeout`, and calls `wake` for each task that can continue; returns the number of tasks.
    ///
    /// Returns after the first events, after a [notification](Self::notify), or when the timeout has elapsed: never
    /// earlier, and signals do not end it. It may also return spuriously. `None` is no limit. A timeout of zero polls
    /// without waiting, and leaves a notification to the next waiting call.
    ///
    /// `wake` is called without a lock, and another thread may drive already. If it panics, the other tasks are still woken.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), at once, if another thread drives;
    /// [`NoDriver::Closed`](crate::NoDriver::Closed) in the child of a fork.
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// use std::time::{Duration, Instant};
    /// let driver = brigade::io::Driver::new()?;
    /// let begun = Instant::now();
    /// let woken = driver.drive(Some(Duration::from_millis(2)), &mut |waker| waker.wake())?;
    /// assert_eq!(woken, 0);
    /// assert!(begun.elapsed() >= Duration::from_millis(2));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn drive(
        &self,
        timeout: Option<Duration>,
        wake: &mut impl FnMut(Waker),
    ) -> io::Result<usize> {
        self.drive_unless(|| false, timeout, wake)
    }

    /// Like [`drive`](Self::drive), but polls without waiting if `is_woken`.
    ///
    /// For threads that drive by turns, and are woken singly: the wait of another thread may consume the
    /// [notification](Self::notify) meant for this thread. So a thread that wakes another first sets a flag of the other, and then
    /// notifies; `is_woken` reads the flag, at a time from which on notifications end this wait.
    ///
    /// # Errors
    /// As [`drive`](Self::drive).
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// let (driver, is_woken) = (brigade::io::Driver::new()?, AtomicBool::new(false));
    /// is_woken.store(true, Ordering::Relaxed);
    /// driver.notify();
    /// driver.drive(None, &mut |waker| waker.wake())?; // Consumes it.
    /// let is_woken = || is_woken.load(Ordering::Relaxed);
    /// assert_eq!(driver.drive_unless(is_woken, None, &mut |waker| waker.wake())?, 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn drive_unless(
        &self,
        is_woken: impl FnOnce() -> bool,
        timeout: Option<Duration>,
        wake: &mut impl FnMut(Waker),
    ) -> io::Result<usize> {
        self.check_process()?;
        let Some(guard) = self.poll_lock.try_lock() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let mut scratch = Scratch::take();
        let waited = self.wait(&mut scratch.events, is_woken, timeout);
        if waited.is_ok() {
            self.deliver(&mut scratch, timeout != Some(Duration::ZERO));
        }
        // Another thread may wait while this thread makes system calls and wakes.
        drop(guard);
        let Scratch { wakers, changed, .. } = &mut *scratch;
        for source in changed.drain(..) {
            source.follow_up(wakers);
        }
        let woken = scratch.wake_all(wake);
        scratch.keep();
        waited.map(|()| woken)
    }

    /// Waits, unless there was a notification, or `is_woken`.
    fn wait(
        &self,
        events: &mut Events,
        is_woken: impl FnOnce() -> bool,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            // A notification would not shorten it, and is left to a wait.
            return self.poller.wait(events, timeout);
        }
        let may_wait = self.wake_flag.begin_wait() && !is_woken();
        let timeout = if may_wait { timeout } else { Some(Duration::ZERO) };
        let waited = self.poller.wait(events, timeout);
        self.wake_flag.end_wait();
        waited
    }

    /// Hands the events to their sources. `sleeps`: this was no poll with a timeout of zero.
    fn deliver(&self, scratch: &mut Scratch, sleeps: bool) {
        let found = scratch.events.iter().take(2).count();
        if found == 0 {
            return;
        }
        let look = Look { sleeps, is_crowd: found > 1 };
        let table = self.table.lock();
        for event in scratch.events.iter() {
            // The source has been dropped since the wait, and another source may have the entry.
            let Some(source) = table.get(event.key) else { continue };
            if source.deliver(event, look, &mut scratch.wakers) == FollowUp::SetInterest {
                scratch.changed.push(Arc::clone(source));
            }
        }
    }

    /// Ends the wait of the driving thread, or else the next wait.
    ///
    /// All notifications until the wait ends count as one. Makes a system call only while a thread waits.
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// let driver = brigade::io::Driver::new()?;
    /// driver.notify();
    /// assert_eq!(driver.drive(None, &mut |waker| waker.wake())?, 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn notify(&self) {
        if self.is_here() && self.wake_flag.notify() {
            // The system documents no reason for which this fails.
            let notified = self.poller.notify();
            debug_assert!(notified.is_ok(), "{notified:?}");
        }
    }

    /// Ends all waiting for sources: calls `wake` for each waiting task, and from now on every operation that would
    /// wait fails with [`NoDriver::Closed`](crate::NoDriver::Closed).
    ///
    /// For the end of a pool, after which no thread drives. Operations without a wait still work: the values can be read,
    /// written and taken out.
    ///
    /// ```
    /// # mod brigade { pub use brigade_io as io; }
    /// use futures_lite::{AsyncReadExt, future};
    /// let driver = brigade::io::Driver::new()?;
    /// let (mut reader, _writer) = driver.enter(brigade::io::pipe)?;
    /// driver.close(&mut |waker| waker.wake());
    /// let error = future::block_on(reader.read(&mut [0])).unwrap_err();
    /// assert!(error.get_ref().is_some_and(|error| error.is::<brigade::io::NoDriver>()));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn close(&self, wake: &mut impl FnMut(Waker)) {
        // In a forked child a thread of the parent may have held the lock.
        if !self.is_here() {
            return;
        }
        let sources = self.table.lock().close();
        let mut scratch = Scratch::take();
        for source in sources {
            source.close(&mut scratch.wakers);
        }
        scratch.wake_all(wake);
        scratch.keep();
        self.notify();
    }

    /// Adds a source to the table.
    pub(crate) fn register(self: &Arc<Self>, source: &Arc<Source>) -> io::Result<Registration> {
        let key = self.with_table(|table| table.insert(Arc::clone(source)))?;
        Ok(Registration { driver: Arc::clone(self), key })
    }

    /// Whether this process created it, and not the parent process before a fork.
    fn is_here(&self) -> bool {
        self.process == fork::generation()
    }

    /// Fails in the child of a fork: the kernel objects are the parent's, and threads of the parent may have held locks.
    pub(crate) fn check_process(&self) -> io::Result<()> {
        if self.is_here() { Ok(()) } else { Err(driver_closed()) }
    }

    /// Runs a call that may block this thread.
    pub(crate) fn blocking<R>(&self, call: impl FnOnce() -> R) -> R {
        let (mut call, mut result) = (Some(call), None);
        (self.blocking)(&mut || result = call.take().map(|call| call()));
        result.expect("the function of `Driver::with_blocking` calls the code once")
    }

    pub(crate) fn poller(&self) -> &Arc<Poller> {
        &self.poller
    }

    fn with_table<R>(&self, call: impl FnOnce(&mut Table) -> R) -> R {
        let mut table = self.table.lock();
        let result = call(&mut table);
        // Ordering: Relaxed, as it is a statistic; the lock orders the stores.
        self.sources.store(table.len(), Ordering::Relaxed);
        result
    }
}

/// A source's entry in the driver's table, which ends when this is dropped.
pub(crate) struct Registration {
    driver: Arc<Driver>,
    key: usize,
}

impl Registration {
    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    pub(crate) fn key(&self) -> usize {
        self.key
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // In a forked child a thread of the parent may have held the lock.
        if !self.driver.is_here() {
            return;
        }
        let source = self.driver.with_table(|table| table.remove(self.key));
        // Dropping wakers is user code, and no lock is held here.
        drop(source.map(|source| source.take_wakers()));
    }
}

brigade_sync::opaque!(Driver: sources);
