//! The driver: waits for all sources at once and says whom to wake.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use brigade_sync::atomic::{AtomicUsize, Ordering};
use brigade_sync::{Mutex, fork};

use crate::bell::Bell;
use crate::room::Room;
use crate::supply::DriverSupply;
use crate::sys::{Events, Poller};
use crate::table::Table;
use crate::turn::Place;
use crate::waiting::Fired;

/// When the operating system tells of a source.
///
/// Programs see no difference but speed. The crate's documentation says what each costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// By edge for sockets, by level for everything else. The default: a pipe is read once for each event and waits again,
    /// which a level makes cheaper, while what many tasks on several threads wait for would be told of twice, by a thread
    /// that looks before the task has read.
    #[default]
    ByKind,
    /// At every wait, as long as it is ready and somebody waited for it since.
    Level,
    /// Once, when something happens to it.
    Edge,
    /// Once, each time that it has been asked for.
    Oneshot,
}

/// Waits for files: for one of them, or for all, in one call.
///
/// A driver has no thread. Whoever has nothing else to do [drives](Self::drive) it, one at a time, and wakes those whom it is
/// told of. A pool has one driver, and its workers drive in turn.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use brigade_io::{Driver, pipe};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
///
/// let driver = Driver::new()?;
/// let (mut reader, mut writer) = driver.enter(pipe)?;
/// let thread = std::thread::spawn({
///     let driver = Arc::clone(&driver);
///     move || while driver.drive(None, &mut |waker| waker.wake()).unwrap() == 0 {}
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
    /// What each source is asked with.
    trigger: Trigger,
    /// The process that it belongs to, by its generation.
    process: u32,
    /// Who asks the system. Sources have it too.
    poller: Arc<Poller>,
    /// Whether a wait has to be ended.
    bell: Bell,
    /// Whether somebody drives.
    place: Place,
    /// The sources.
    table: Mutex<Table>,
    /// How many there are, for those who only want to know that.
    sources: AtomicUsize,
}

impl Driver {
    /// Makes a driver that is triggered as [suits each source](Trigger::ByKind).
    ///
    /// # Errors
    /// Those of the operating system: it needs two file descriptors on Linux.
    pub fn new() -> io::Result<Arc<Self>> {
        Self::with_trigger(Trigger::default())
    }

    /// Makes a driver that is triggered otherwise.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); [`Unsupported`](io::ErrorKind::Unsupported) if the system knows no such trigger. Linux
    /// knows all.
    ///
    /// ```
    /// use brigade_io::{Driver, Trigger};
    /// assert_eq!(Driver::with_trigger(Trigger::Oneshot)?.trigger(), Trigger::Oneshot);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn with_trigger(trigger: Trigger) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            trigger,
            process: fork::generation(),
            poller: Arc::new(Poller::new(trigger)?),
            bell: Bell::default(),
            place: Place::new(),
            table: Mutex::default(),
            sources: AtomicUsize::new(0),
        }))
    }

    /// By what it is triggered.
    pub fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// How many sources are registered. It takes no lock.
    ///
    /// ```
    /// let driver = brigade_io::Driver::new()?;
    /// let pipe = driver.enter(brigade_io::pipe)?;
    /// assert_eq!(driver.sources(), 2);
    /// drop(pipe);
    /// assert_eq!(driver.sources(), 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn sources(&self) -> usize {
        // Ordering: Relaxed; who has to be certain of a registration has made it, or was told of it.
        self.sources.load(Ordering::Relaxed)
    }

    /// Whether a thread drives at this moment: has called [`drive`](Self::drive), and is about to wait, waits, or sorts out
    /// what it was told. It takes no lock.
    ///
    /// ```
    /// let driver = brigade_io::Driver::new()?;
    /// assert!(!driver.is_driven());
    /// driver.notify();
    /// driver.drive(None, &mut |waker| waker.wake())?;
    /// assert!(!driver.is_driven());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn is_driven(&self) -> bool {
        self.place.is_taken()
    }

    /// Calls with this driver as the thread's: what is made in `call` registers with it.
    ///
    /// ```
    /// use brigade_io::{Driver, UdpSocket};
    /// let driver = Driver::new()?;
    /// assert!(driver.enter(|| UdpSocket::bind(([127, 0, 0, 1], 0))).is_ok());
    /// assert!(UdpSocket::bind(([127, 0, 0, 1], 0)).is_err(), "no driver here");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enter<R>(self: &Arc<Self>, call: impl FnOnce() -> R) -> R {
        DriverSupply::of(Arc::clone(self)).enter(call)
    }

    /// The driver of this thread, made for it if need be.
    ///
    /// # Errors
    /// [`NoDriver::None`](crate::NoDriver::None) outside of [`enter`](Self::enter) and
    /// [`DriverSupply::enter`]; those of a supply that can't make one.
    pub fn current() -> io::Result<Arc<Self>> {
        DriverSupply::current()
    }

    /// Waits once, for at most `timeout`, and calls `wake` for each task that can go on; returns for how many.
    ///
    /// Ends with the first events, when [notified](Self::notify), or when the time is over: never before that, and signals
    /// do not end it. It may also end for no reason. `None` is for ever; zero looks and does not wait, and leaves a
    /// notification to the next one that does.
    ///
    /// `wake` runs when another thread may drive already, and no lock is held. If it panics the other tasks are woken
    /// all the same.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), at once, if another thread drives.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let driver = brigade_io::Driver::new()?;
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
        let Some(turn) = self.place.take() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let mut room = Room::take();
        let waited = self.wait(&mut room.events, timeout);
        if waited.is_ok() {
            self.fire(&mut room);
        }
        // Before it asks and wakes: the next one can wait meanwhile.
        drop(turn);
        let Room { wakers, unsettled, .. } = &mut *room;
        for source in unsettled.drain(..) {
            source.settle(wakers);
        }
        let woken = room.wake_all(wake);
        room.keep();
        waited.map(|()| woken)
    }

    /// Waits, unless somebody rang.
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        if timeout == Some(Duration::ZERO) {
            // No wait that a ring could end: it is left for the next one.
            return self.poller.wait(events, timeout);
        }
        let timeout = if self.bell.listen() { timeout } else { Some(Duration::ZERO) };
        let waited = self.poller.wait(events, timeout);
        self.bell.heard();
        waited
    }

    /// Tells the sources of their events.
    fn fire(&self, room: &mut Room) {
        let mut events = room.events.iter().peekable();
        if events.peek().is_none() {
            return;
        }
        let table = self.table.lock();
        for event in events {
            // No source: it has been dropped since the wait, or another has its place.
            let Some(source) = table.get(event.key) else { continue };
            if source.fire(event, &mut room.wakers) == Fired::Unsettled {
                room.unsettled.push(Arc::clone(source));
            }
        }
    }

    /// Ends the wait of whoever drives; if nobody does, the next one.
    ///
    /// Any number of them until that wait's end are one. A system call only if somebody waits.
    ///
    /// ```
    /// let driver = brigade_io::Driver::new()?;
    /// driver.notify();
    /// assert_eq!(driver.drive(None, &mut |waker| waker.wake())?, 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn notify(&self) {
        if self.bell.ring() {
            // It fails for no reason that the system documents.
            let rung = self.poller.ring();
            debug_assert!(rung.is_ok(), "{rung:?}");
        }
    }

    /// Ends all waiting for sources: calls `wake` for each task that waits, and whatever waits from now on fails with
    /// [`NoDriver::Closed`](crate::NoDriver::Closed).
    ///
    /// For the end of a pool, when nobody will drive any more. What needs no waiting still works: the values can be read,
    /// written and taken back.
    ///
    /// ```
    /// use futures_lite::{AsyncReadExt, future};
    /// let driver = brigade_io::Driver::new()?;
    /// let (mut reader, _writer) = driver.enter(brigade_io::pipe)?;
    /// driver.close(&mut |waker| waker.wake());
    /// let error = future::block_on(reader.read(&mut [0])).unwrap_err();
    /// assert!(error.get_ref().unwrap().is::<brigade_io::NoDriver>());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn close(&self, wake: &mut impl FnMut(Waker)) {
        let sources = self.table.lock().close();
        let mut room = Room::take();
        for source in sources {
            source.close(&mut room.wakers);
        }
        room.wake_all(wake);
        room.keep();
        self.notify();
    }

    /// Whether this is the process that made it, and no child of it.
    pub(crate) fn is_here(&self) -> bool {
        self.process == fork::generation()
    }

    pub(crate) fn poller(&self) -> &Arc<Poller> {
        &self.poller
    }

    /// Calls with the sources, under the driver's lock.
    pub(crate) fn with_table<R>(&self, call: impl FnOnce(&mut Table) -> R) -> R {
        let mut table = self.table.lock();
        let result = call(&mut table);
        // Ordering: Relaxed, as it is no more than a count; the lock orders the stores.
        self.sources.store(table.len(), Ordering::Relaxed);
        result
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("trigger", &self.trigger)
            .field("sources", &self.sources())
            .finish_non_exhaustive()
    }
}
