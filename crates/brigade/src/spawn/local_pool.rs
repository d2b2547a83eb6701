//! A pool driven by its owner.

use core::future::Future;
use core::marker::PhantomData;
use core::ops::Deref;
use core::pin::pin;
use std::io;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use brigade_sync::thread::Inherited;

use crate::engine::{
    Child, Driven, Key, Kind, Shared, Worker, forget, link_driven, resources_of, wait_until,
};
use crate::handle::{Handle, JoinHandle};
use crate::spawn::{block_on, spawn_local_as, wait_for};
use crate::submission::Carried;
use crate::values::{Config, Shutdown, opaque};

/// A pool without threads: the owner decides when its jobs run.
///
/// It has jobs, futures, [timers](crate::time) and I/O like a [`Pool`](crate::Pool). Use it on a thread with a loop
/// of its own, such as the thread of a user interface or a game, for [futures that are not
/// `Send`](crate::spawn_local), and for tests that need a fixed order of events. Any thread submits to it through its
/// [`handle`](Self::handle).
///
/// With the feature `test-util`, `LocalPool::paused` makes a pool with a virtual clock.
///
/// | to run jobs | use |
/// |---|---|
/// | until a future is ready, and sleep while idle | [`run_until`](Self::run_until) |
/// | until no job can run | [`run_until_idle`](Self::run_until_idle) |
/// | one by one | [`tick`](Self::tick) |
/// | until a wait is over | any wait of brigade on the owner's thread: for a [handle](crate::JoinHandle::join), a [set](crate::TaskSet), a [scope](Handle::scope), a future in [`block_on`](crate::block_on()) |
///
/// Jobs start in the order of their submission. Between these calls nothing runs: timers fire late, and a thread that
/// waits for a job or an I/O resource of the pool waits for the next call. On the owner's thread
/// [`wait_idle`](Handle::wait_idle) and [`shutdown`](Handle::shutdown) don't wait.
///
/// It has the methods of [`Handle`], to which it derefs. [`install`](Handle::install) and
/// [`scope`](Handle::scope) run at once on the owner's thread. On any other thread they wait for the owner, as for a
/// job. The [size](Handle::size) is 1 and can't be changed. While a job waits, in a `join` for example, other jobs
/// run inside that wait; while a job [blocks](crate::blocking()), no other job runs.
///
/// Dropping it runs the accepted jobs, and then cancels pending futures and timers.
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
    driven: Arc<Driven>,
    handle: Handle,
    /// Not `Send`: local futures stay on this thread.
    _owner: PhantomData<Rc<()>>,
}

impl LocalPool {
    /// Creates a pool owned by the calling thread.
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

    /// Creates a pool with a virtual clock, for tests: a timer takes no real time. Requires the feature `test-util`.
    ///
    /// The clock applies to all [timers](crate::time) of the pool: sleeps, time limits, intervals, delayed and
    /// periodic closures, and [deadlines](crate::JobBuilder::deadline). It stands still while a job or future of the
    /// pool can run. When the owner would sleep until a timer, the clock leaps to that timer. So timers fire in the
    /// order of their deadlines, each exactly on time. Those of the same time become ready together, and a future that was
    /// woken goes on when it is its turn: [`yield_now`](crate::yield_now) after a `sleep` lets the others go first.
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
    /// Code under test must read the time by [`time::now`](crate::time::now), because [`Instant`](std::time::Instant)
    /// shows the real time.
    ///
    /// A sleep is measured by the clock of the pool current at its creation. So create it in the pool:
    /// `run_until(async { sleep(d).await })`, not `run_until(sleep(d))`.
    ///
    /// The clock does not wait for work outside of the pool: jobs of other pools, other threads, and I/O. While a
    /// future waits for such work, the clock leaps from timer to timer, so a time limit for that future elapses at
    /// once. Use channels in memory in place of sockets, or set no timer meanwhile. A closure
    /// [submitted](crate::submit()) to the pool may block: it runs on the owner's thread, and the clock stands still.
    ///
    /// A time a hundred years from the creation of the pool, or too far to be represented, is never reached: the
    /// clock does not leap to it.
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

    /// Like [`new`](Self::new), with a changed configuration.
    pub(crate) fn configured(change: impl FnOnce(&mut Config)) -> io::Result<Self> {
        link_driven();
        let mut config = Config::default();
        config.have_no_thread();
        config.inherited = Inherited::here();
        change(&mut config);
        let shared = Shared::new(
            Key::new::<Child>(Kind::default())?,
            config,
            None,
            Worker::live,
            resources_of,
        );
        let handle = Handle::new(shared.key);
        Ok(Self { driven: Driven::of_this_thread(shared), handle, _owner: PhantomData })
    }

    /// Returns a handle to the pool, for submissions from anywhere.
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
        self.handle
    }

    /// Runs a future to completion on this thread, and the pool's jobs while the future waits. Sleeps while there is
    /// nothing to do.
    ///
    /// The future is polled first whenever it was woken, and need not be `'static` or `Send`. Its
    /// [spawned](crate::spawn()) jobs, timers and I/O belong to the pool. Jobs left when the future is ready wait for
    /// the next call. If the pool has been shut down, only the future runs. A job that waits lies above this call on the
    /// stack, also a closure that another thread has [installed](Handle::install): this returns only after it.
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
        let (mut output, carried) = (None, Carried::here());
        self.driven.run(&mut |_| carried.attach(&mut || output = Some(wait_for(future.as_mut()))));
        output.unwrap_or_else(|| block_on(future))
    }

    /// Spawns a future that need not be `Send` to this pool. Like [`spawn_local`](crate::spawn_local), but from
    /// outside of the pool's jobs.
    ///
    /// The future is polled in the owner's calls.
    ///
    /// # Panics
    /// If the pool has been shut down and has ended; in the child of a fork.
    ///
    /// # Examples
    /// ```
    /// use std::rc::Rc;
    /// let pool = brigade::LocalPool::new()?;
    /// let word = Rc::new("here"); // It may not leave this thread.
    /// let length = pool.spawn_local(async move { word.len() });
    /// assert_eq!(length.join()?, 4);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let key = self.handle.key;
        spawn_local_as(Some(key), |own| own.is_of(key), future, Location::caller())
            .expect("the LocalPool has ended")
    }

    /// Runs jobs until none can run: queued jobs, jobs submitted by them, and woken futures. Does not wait for
    /// pending futures and timers.
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

    /// Runs the next job if there is one, and returns whether there was. Fires due timers and polls I/O; never
    /// sleeps.
    ///
    /// May run more than one job if several are due at once, such as the oldest of many jobs queued for long.
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

impl Deref for LocalPool {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for LocalPool {
    fn drop(&mut self) {
        let shared = self.driven.shared().clone();
        if !shared.key.is_here() {
            // The parent's owner was using these.
            core::mem::forget((shared, self.driven.clone()));
            return;
        }
        shared.close(Shutdown::Drain);
        forget(shared.key);
        self.driven.end();
        shared.wait_for_end(None, wait_until);
    }
}

opaque!(LocalPool);
