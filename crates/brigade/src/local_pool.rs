//! A pool that its owner runs.

use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::pin;
use std::io;
use std::panic;
use std::rc::Rc;

use brigade_sync::thread::Inherited;

use crate::config::{Config, Placement, Queueing, Shutdown, Size};
use crate::engine::{Child, Core, Driven, Worker};
use crate::handle::Handle;
use crate::key::Key;
use crate::registry;
use crate::spawn::block_on;

/// A pool without threads: its owner runs its jobs, when it chooses to.
///
/// It has jobs, futures, [timers](crate::time) and I/O like a [`Pool`](crate::Pool). Use it on a thread that has a loop of its own, such
/// as that of a user interface or a game, for [futures that are not `Send`](crate::spawn_local), and for tests that need one order of
/// events. Any thread submits to it by its [`handle`](Self::handle).
///
/// With the feature `test-util`, `LocalPool::paused` makes one whose clock is virtual.
///
/// | to run jobs | use |
/// |---|---|
/// | until a future is ready, and sleep when there is none | [`run_until`](Self::run_until) |
/// | until there is none | [`run_until_idle`](Self::run_until_idle) |
/// | one by one | [`tick`](Self::tick) |
///
/// Jobs start in the order in which they were submitted. Between these calls nothing runs: timers fire late, and a
/// thread that waits for a job or an I/O resource of the pool waits for the next call. On the owner's own thread such a wait would never end. So
/// outside of these calls a [`join`](crate::JoinHandle::join) of a job that has not ended returns
/// [`WouldDeadlock`](crate::JoinError::WouldDeadlock) there. [`wait_idle`](Handle::wait_idle) and
/// [`shutdown`](Handle::shutdown) don't wait. [`block_on`](crate::block_on()) doesn't run the pool's jobs either; use `run_until`.
///
/// Its [size](Handle::size) is one and can't be changed. While one of its jobs [blocks](crate::blocking()), no other runs. A
/// [scope](Handle::scope), [`install`](Handle::install) and [`join`](Handle::join) that the owner's thread calls run there.
///
/// Dropping it runs the jobs that it accepted, and cancels the futures and timers that still wait then.
///
/// ```
/// use brigade::{LocalPool, spawn, spawn_local};
/// use std::rc::Rc;
/// let pool = LocalPool::new()?;
/// let words = Rc::new(["to", "borrow"]);
/// let count = pool.run_until(async {
///     let words = words.clone(); // An `Rc` may not leave this thread, and need not.
///     let local = spawn_local(async move { words.len() });
///     let six = spawn(async { 6 });
///     Ok::<_, brigade::JoinError>(local.await? * six.await?)
/// })?;
/// assert_eq!(count, 12);
///
/// let handle = pool.handle();
/// let other = std::thread::spawn(move || handle.submit(|| 42).join());
/// while !other.is_finished() {
///     pool.tick(); // And whatever else this thread has to do.
/// }
/// assert_eq!(other.join().unwrap()?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias = "LocalSet")]
#[doc(alias = "current_thread")]
#[doc(alias = "LocalExecutor")]
pub struct LocalPool {
    driven: Driven,
    /// Local futures stay on this thread.
    not_send: PhantomData<Rc<()>>,
}

impl LocalPool {
    /// Creates a pool that the calling thread owns.
    ///
    /// # Errors
    /// If the handler for forks can't be installed.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::LocalPool::new()?;
    /// assert_eq!(pool.run_until(async { 42 }), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        Self::configured(|_| ())
    }

    /// Creates a pool whose clock is virtual, for tests: a timer takes no real time. Needs the feature `test-util`.
    ///
    /// All [timers](crate::time) of the pool have this clock: sleeps, time limits, intervals, delayed and periodic closures, and
    /// [deadlines](crate::JobBuilder::deadline). It stands still while a job or future of the pool can run. Where the owner would sleep
    /// until a timer, the clock leaps to that timer. So timers fire in the order of their deadlines, each at exactly its time.
    /// [`advance`](crate::time::advance) moves the clock by hand.
    ///
    /// | the owner | the clock |
    /// |---|---|
    /// | can run a job or future of the pool | stands still |
    /// | waits in [`run_until`](Self::run_until), or in [`block_on`](crate::block_on()) in a job, and a timer is set | leaps to the earliest timer |
    /// | waits there, and no timer is set | stands still, however long that takes |
    /// | is in [`run_until_idle`](Self::run_until_idle) or [`tick`](Self::tick), which never wait | stands still |
    /// | blocks the thread, in [`join`](crate::JoinHandle::join) or [`std::thread::sleep`] for example | stands still |
    ///
    /// Code under test reads the time by [`time::now`](crate::time::now): that of [`Instant`](std::time::Instant) is the real one.
    ///
    /// A sleep is measured by the clock of the pool that is current where the sleep is created. So create it in the pool:
    /// `run_until(async { sleep(d).await })`, not `run_until(sleep(d))`.
    ///
    /// The clock does not wait for work outside of the pool: jobs of other pools, other threads, and I/O. While a future waits for such work,
    /// the clock leaps from one timer to the next, so a time limit for that future elapses at once. Use channels in memory in place of
    /// sockets, or set no timer meanwhile. A closure that is [submitted](crate::submit()) to the pool may block: it runs on the owner's
    /// thread, and the clock stands still.
    ///
    /// A time that is a hundred years from the creation of the pool, or too far to be represented, is never reached: the clock does not leap
    /// to it.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    ///
    /// # Examples
    /// ```
    /// use brigade::{LocalPool, time};
    /// use std::time::{Duration, Instant};
    /// const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    /// let (pool, real) = (LocalPool::paused()?, Instant::now());
    /// pool.run_until(async {
    ///     let begun = time::now();
    ///     let reminder = brigade::submit_after(WEEK / 2, || "half of it");
    ///     time::sleep(WEEK).await;
    ///     assert_eq!(time::now() - begun, WEEK);
    ///     assert!(reminder.is_finished());
    /// });
    /// assert!(real.elapsed() < WEEK);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "start_paused")]
    #[doc(alias = "pause")]
    #[cfg(feature = "test-util")]
    pub fn paused() -> io::Result<Self> {
        Self::configured(|config| config.is_paused = true)
    }

    /// Does the same, with other values.
    pub(crate) fn configured(change: impl FnOnce(&mut Config)) -> io::Result<Self> {
        let mut config = Config {
            size: Size { core: 1, max: 1, spare: 0 },
            spare: Some(0),
            follow: None,
            is_driven: true,
            caller_participates: true,
            placement: Placement::Kernel,
            queueing: Queueing::Shared,
            inherited: Inherited::here(),
            ..Config::default()
        };
        change(&mut config);
        let core = Core::new(Key::new::<Child>(false, false)?, config, None, Worker::live);
        Ok(Self { driven: Driven::new(core), not_send: PhantomData })
    }

    /// Returns a handle that names the pool, to submit from anywhere.
    ///
    /// ```
    /// let pool = brigade::LocalPool::new()?;
    /// let mut job = pool.handle().submit(|| 42);
    /// assert!(job.try_join().is_none(), "nothing has run it");
    /// pool.run_until_idle();
    /// assert_eq!(job.try_join().transpose()?, Some(42));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(self.driven.core().key)
    }

    /// Runs a future to completion on this thread, and the pool's jobs while it waits; sleeps while there is nothing to do.
    ///
    /// The future is polled first whenever it was woken, and need not be `'static` or `Send`. What it [spawns](crate::spawn()), its
    /// timers and its I/O belong to the pool. Jobs that are left when it is ready wait for the next call. If the pool has been shut
    /// down, only the future runs.
    ///
    /// # Panics
    /// If the future does; if a job or future of the pool calls it; in the child of a fork.
    ///
    /// # Examples
    /// ```
    /// use brigade::time;
    /// use std::time::Duration;
    /// let pool = brigade::LocalPool::new()?;
    /// let words = vec![String::from("to"), String::from("borrow")];
    /// let count = pool.run_until(async {
    ///     let job = brigade::submit(|| 6);
    ///     time::sleep(Duration::from_millis(1)).await;
    ///     words.len() * job.await.unwrap_or(0)
    /// });
    /// assert_eq!(count, 12);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "block_on")]
    #[track_caller]
    pub fn run_until<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        match self.driven.run_until(future.as_mut()) {
            Some(output) => output,
            None => block_on(future),
        }
    }

    /// Runs jobs until there is none to run: what is queued, what that submits, and futures that have been woken. Does not wait for
    /// futures and timers.
    ///
    /// # Panics
    /// If a job or future of the pool calls it; in the child of a fork.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::LocalPool::new()?;
    /// let handle = pool.handle();
    /// let outer = handle.submit(move || handle.submit(|| 42));
    /// pool.run_until_idle();
    /// assert_eq!(outer.join()?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "run_until_stalled")]
    #[track_caller]
    pub fn run_until_idle(&self) {
        self.driven.run_until_idle();
    }

    /// Runs the next job if there is one, and returns whether there was. Fires the timers that are due and polls I/O; never sleeps.
    ///
    /// May run more than one job where several are due at once, such as the oldest of many that have waited for long.
    ///
    /// # Panics
    /// As [`run_until_idle`](Self::run_until_idle) does.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::LocalPool::new()?;
    /// assert!(!pool.tick());
    /// pool.handle().execute(|| println!("one"));
    /// pool.handle().execute(|| println!("two"));
    /// let mut frames = 0;
    /// while pool.tick() {
    ///     frames += 1; // The thread's other work.
    /// }
    /// assert_eq!(frames, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "try_tick")]
    #[doc(alias = "try_run_one")]
    #[track_caller]
    pub fn tick(&self) -> bool {
        self.driven.tick()
    }
}

impl panic::UnwindSafe for LocalPool {}
impl panic::RefUnwindSafe for LocalPool {}

impl Drop for LocalPool {
    fn drop(&mut self) {
        let core = self.driven.core().clone();
        if !core.key.is_here() {
            self.driven.leak();
            return;
        }
        core.close(Shutdown::Drain);
        registry::forget(core.key);
        self.driven.end();
        core.wait_for_end(None);
    }
}

impl fmt::Debug for LocalPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPool").finish_non_exhaustive()
    }
}
