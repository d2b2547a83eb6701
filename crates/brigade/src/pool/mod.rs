//! The owner of a pool.

mod verbs;

use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::config::{Report, Shutdown, Threads};
use crate::engine::{Core, blocking};
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::metrics::Metrics;
use crate::registry::{self, reach_owned};
use crate::rejected::{Reason, Rejected};
use crate::submission::{Submission, submit_all};

/// A pool of threads that runs jobs, closures and futures alike; this is its only owner.
///
/// Not `Clone`. As long as it exists the pool accepts work, so [`execute`](Self::execute) and [`submit`](Self::submit) can't
/// fail. The exceptions, described there, are a pool that is bounded, was [closed](Self::close) or may have no thread at all.
/// Dropping it ends the pool: it rejects new work from outside, runs everything that it accepted, and joins its threads.
/// Futures that still wait when nothing else is left, and timers that are not due, are cancelled.
/// [`handle`](Self::handle) returns a `Copy` handle.
///
/// Dropped on one of its own workers, the pool is closed, and its threads finish the accepted work without being joined.
///
/// # Forks
/// In the child of a fork the pool's threads don't exist. Every call returns at once: a submission panics, or returns the
/// closure with [`Reason::Forked`](crate::Reason::Forked); a wait does not block; counters are 0. An unfinished job's
/// [`JoinHandle`] reports it as cancelled, and dropping the pool leaks it. A job that forks must call `exec` or `_exit` in
/// the child: if it returns there, the child is aborted with a message.
///
/// A pool that is made in the child works as any other, if the standard library can start threads there. As of Rust 1.95 it
/// holds a lock for a moment while any thread of the process starts or ends. A child that is forked in that moment waits for
/// this lock for ever.
///
/// Only children made by the C library's `fork` are detected, once the process has made a pool.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// static RAN: AtomicU32 = AtomicU32::new(0);
/// let pool = brigade::Pool::new(4);
/// for _ in 0..1000 {
///     pool.execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
/// }
/// drop(pool);
/// assert_eq!(RAN.load(Ordering::Relaxed), 1000);
/// ```
pub struct Pool {
    core: Arc<Core>,
    /// Whether it has been ended already.
    is_over: bool,
}

impl Pool {
    pub(crate) fn from_core(core: Arc<Core>) -> Self {
        Self { core, is_over: false }
    }

    /// Returns a handle that names the pool, to submit from anywhere.
    pub fn handle(&self) -> Handle {
        Handle::new(self.core.key)
    }

    /// How many threads the pool may have at most. How many there are is in [`metrics`](Self::metrics).
    pub fn threads(&self) -> usize {
        *self.size().end()
    }

    /// How many threads the pool may have: from its core size to the largest. None in a forked child.
    pub fn size(&self) -> RangeInclusive<usize> {
        if !self.is_here() {
            return 0..=0;
        }
        let size = self.core.size();
        size.core..=size.max
    }

    /// Gives the pool another size, without interrupting a job and without losing one.
    ///
    /// Surplus threads end: idle ones at once, the others between two jobs. If the new size is larger, more threads start as
    /// if it had always been so: with submissions, or now if jobs wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a number of threads that no pool can have; see
    /// [`Builder::threads`](crate::Builder::threads). [`io::ErrorKind::Unsupported`] in a forked child.
    ///
    /// ```
    /// let pool = brigade::Pool::new(8);
    /// pool.resize(1..=2)?;
    /// assert_eq!(pool.size(), 1..=2);
    /// assert!(pool.resize(0..=0).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn resize(&self, threads: impl Into<Threads>) -> io::Result<()> {
        let refuse = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
        if !self.is_here() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, Reason::Forked.to_string()));
        }
        self.core.resize(threads.into().check().map_err(refuse)?);
        Ok(())
    }

    /// Accepts a closure, to be run once.
    ///
    /// Never waits for a job, unless the pool is bounded and [does so when full](crate::WhenFull); starts a thread if the
    /// pool's rules say so. Does not allocate if the captures have at most 24 bytes (16 in a bounded pool) and the alignment
    /// of a pointer.
    ///
    /// # Panics
    /// If the pool has no thread and can't start one, which is possible only if the core size is 0 or [may time
    /// out](crate::Builder::allow_core_timeout). Likewise if it is full and its [policy](crate::WhenFull) rejects jobs then,
    /// if it was [closed](Self::close), except on its own workers, and in a forked child. [`try_execute`](Self::try_execute)
    /// and a [`handle`](Self::handle) return the closure instead.
    #[inline(always)]
    pub fn execute<F: FnOnce() + Send + 'static>(&self, job: F) {
        if self.core.key.is_bounded() {
            return expect_accepted(Submission::new(job).submit(self.core.key));
        }
        if let Err(rejected) = reach_owned(&self.core, |at| at.execute(job)) {
            refuse(rejected.reason());
        }
    }

    /// Accepts a closure, to be run once, and gives a handle for its outcome. One allocation.
    ///
    /// # Panics
    /// As [`execute`](Self::execute).
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let key = self.core.key;
        let accepted = match key.is_bounded() {
            true => Submission::new(job).submit(key),
            false => reach_owned(&self.core, |at| at.submit(job)),
        };
        JoinHandle::new(expect_accepted(accepted), key)
    }

    /// Accepts several closures with one publication, and wakes as many sleeping workers as there are jobs.
    ///
    /// The iterator is exhausted before any closure is accepted. A bounded pool accepts them one by one, each as
    /// [`execute`](Self::execute) would.
    ///
    /// # Panics
    /// As [`execute`](Self::execute); the closures before the one that was not accepted will run, the others are dropped.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let (sender, receiver) = mpsc::channel();
    /// let pool = brigade::Pool::new(2);
    /// pool.execute_batch((0..10).map(|number| {
    ///     let sender = sender.clone();
    ///     move || sender.send(number).unwrap()
    /// }));
    /// assert_eq!(receiver.iter().take(10).sum::<i32>(), 45);
    /// ```
    pub fn execute_batch<I>(&self, jobs: I)
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        let key = self.core.key;
        expect_accepted(match key.is_bounded() {
            true => submit_all(key, jobs.into_iter()),
            false => {
                let jobs = jobs.into_iter().collect();
                reach_owned(&self.core, |at| at.execute_batch(jobs))
            }
        });
    }

    /// Hands closures to idle threads, one to each, and wakes these at once; returns the closures for which there is no idle
    /// thread. See [`Handle::dispatch`].
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(2).prestart().build()?;
    /// let jobs = ["at once", "and this one"].map(|text| move || println!("{text}"));
    /// let not_now = pool.dispatch(jobs);
    /// println!("{} threads were busy or not up yet", not_now.count());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "these jobs were not accepted"]
    pub fn dispatch<I>(&self, jobs: I) -> impl Iterator<Item = I::Item> + use<I>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        self.handle().dispatch(jobs)
    }

    /// Whether the pool belongs to this process.
    #[inline(always)]
    fn is_here(&self) -> bool {
        self.core.key.is_here()
    }

    /// Waits until, at one moment after the call, no job is queued and none runs; returns `true`.
    ///
    /// Everything accepted before the call has ended by then, with all that it submitted. Work that other threads submit
    /// meanwhile is waited for as well: if the pool is never idle, this waits for ever. To wait for some jobs only, use a
    /// [`TaskSet`](crate::TaskSet) or their handles.
    ///
    /// A [future](Self::spawn) that waits to be woken does not count, as it may never be woken; join its handle for that. A
    /// job that another thread [cancels](JoinHandle::cancel), or [runs because the pool is
    /// full](crate::WhenFull::RunInCaller), counts until its captures have been dropped.
    ///
    /// Returns `false` at once where it would wait for itself: on a worker of this pool and in the pool's
    /// [spawner](crate::Builder::spawner); also in a forked child.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static RAN: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::new(2);
    /// pool.execute(|| {
    ///     brigade::execute(|| _ = RAN.fetch_add(1, Ordering::Relaxed)).unwrap();
    ///     RAN.fetch_add(1, Ordering::Relaxed);
    /// });
    /// assert!(pool.wait_idle());
    /// assert_eq!(RAN.load(Ordering::Relaxed), 2, "the child too");
    /// ```
    pub fn wait_idle(&self) -> bool {
        self.wait(None)
    }

    /// Like [`wait_idle`](Self::wait_idle), but waits for `timeout` at most. Returns `false` if that has elapsed, and not
    /// earlier.
    ///
    /// A timeout of 0 asks whether the pool is idle now.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let pool = brigade::Pool::new(2);
    /// let (end, ends) = mpsc::channel::<()>();
    /// pool.execute(move || _ = ends.recv());
    /// assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
    /// drop(end);
    /// assert!(pool.wait_idle_timeout(Duration::MAX));
    /// ```
    pub fn wait_idle_timeout(&self, timeout: Duration) -> bool {
        self.wait(Some(timeout))
    }

    /// Reads the counters; all of them are 0 in a forked child.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// for _ in 0..5 {
    ///     pool.execute(|| ());
    /// }
    /// pool.wait_idle();
    /// let metrics = pool.metrics();
    /// assert_eq!((metrics.accepted, metrics.returned, metrics.queued), (5, 5, 0));
    /// ```
    pub fn metrics(&self) -> Metrics {
        if self.is_here() { self.core.metrics() } else { Metrics::default() }
    }

    /// Rejects new work from outside from now on; never blocks.
    ///
    /// Accepted jobs still run, and may submit more to their own pool. The threads end when all of that is done. May be
    /// called from any thread, also a worker of the pool, and more than once. The pool is shut down or dropped afterwards as
    /// always.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let accepted = pool.submit(|| 42);
    /// pool.close();
    /// let refused = pool.handle().submit(|| 43).unwrap_err();
    /// assert_eq!(refused.reason(), brigade::Reason::Closed);
    /// assert_eq!(accepted.join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn close(&self) {
        if self.is_here() {
            self.core.close(Shutdown::Drain);
        }
    }

    /// Closes the pool and detaches its threads: accepted jobs still run, then the threads end.
    ///
    /// Never blocks. Jobs that have not ended when the process exits are cut short.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let (handle, accepted) = (pool.handle(), pool.submit(|| 42));
    /// pool.detach();
    /// assert!(handle.is_closed());
    /// assert_eq!(accepted.join()?, 42);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn detach(mut self) {
        self.begin_end(Shutdown::Drain);
    }

    /// Ends the pool and reports what became of its jobs.
    ///
    /// From now on nothing is accepted from outside. [`Shutdown::Drain`] runs everything accepted, and what those jobs submit
    /// in turn. [`Shutdown::Discard`] accepts nothing any more and drops jobs that have not started, while running jobs
    /// finish. Returns when the threads have ended, thread-local destructors included. On a worker of this pool it does not
    /// wait, and the report counts what still runs. In a forked child it does nothing, and the report is all zeros.
    ///
    /// ```
    /// use brigade::{Pool, Report, Shutdown};
    /// let pool = Pool::new(1);
    /// for _ in 0..100 {
    ///     pool.execute(|| ());
    /// }
    /// assert_eq!(pool.shutdown(Shutdown::Drain), Report { ran: 100, discarded: 0, still_running: 0 });
    /// ```
    pub fn shutdown(mut self, how: Shutdown) -> Report {
        self.end(how, None)
    }

    /// Like [`shutdown`](Self::shutdown), but waits for `timeout` at most.
    ///
    /// If it elapses, the threads continue in the background and end when they are done; the report counts the jobs that have
    /// no outcome yet as still running. A timeout of 0 does not wait. Once all workers have ended, thread-local destructors
    /// are waited for, however long they take.
    pub fn shutdown_timeout(mut self, how: Shutdown, timeout: Duration) -> Report {
        self.end(how, Some(timeout))
    }

    fn wait(&self, timeout: Option<Duration>) -> bool {
        self.is_here()
            && self.core.may_wait_idle()
            // On a worker of another pool, that pool may have another thread meanwhile.
            && blocking(|| self.core.wait_idle(timeout))
    }

    fn end(&mut self, how: Shutdown, timeout: Option<Duration>) -> Report {
        if self.begin_end(how) {
            self.wait_for_end(timeout);
        }
        let metrics = self.metrics();
        Report {
            ran: metrics.returned + metrics.panicked,
            discarded: metrics.cancelled,
            still_running: metrics.queued + metrics.running,
        }
    }

    /// Rejects new work; `false` if the end has begun before, or there is nothing to end.
    fn begin_end(&mut self, how: Shutdown) -> bool {
        if core::mem::replace(&mut self.is_over, true) {
            return false;
        }
        if !self.is_here() {
            // Nothing that its threads were working on may be dropped here.
            core::mem::forget(Arc::clone(&self.core));
            return false;
        }
        self.core.close(how);
        registry::forget(self.core.key);
        true
    }

    fn wait_for_end(&self, timeout: Option<Duration>) {
        // A deadline too far to be represented is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if self.core.may_wait_for_end() {
            blocking(|| self.core.wait_for_end(deadline));
        }
    }
}

/// Panics with the reason if a pool that is owned did not accept a job.
#[track_caller]
pub(crate) fn expect_accepted<R, W>(result: Result<R, Rejected<W>>) -> R {
    match result.map_err(|rejected| rejected.reason()) {
        Ok(receipt) => receipt,
        Err(reason) => refuse(reason),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse(reason: Reason) -> ! {
    panic!("the job was not accepted: {reason}");
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.begin_end(Shutdown::Drain) {
            self.wait_for_end(None);
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads()).finish_non_exhaustive()
    }
}
