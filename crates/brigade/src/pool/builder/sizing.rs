//! The builder's settings for a pool's threads: when they start and end, and which function starts them.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use brigade_sync::thread::{NewThread, Thread};

use super::Builder;
use crate::engine::link_driven;
use crate::values::Growth;

/// # Threads
impl Builder {
    /// Sets how many threads [`build`](Self::build) starts, up to the core size. Default: 1, and none if the core size
    /// is 0. [`Handle::prestart`](crate::Handle::prestart) starts the threads later.
    ///
    /// With 0, the first submission starts the first thread. Until then, a submission fails if no thread can be
    /// started, as with a [core size of 0](Self::keep_alive).
    ///
    /// ```
    /// use brigade::Pool;
    /// let pool = Pool::builder().threads(2).prestart(2).build()?;
    /// assert_eq!(pool.metrics().threads, 2);
    ///
    /// let lazy = Pool::builder().threads(2).prestart(0).build()?;
    /// assert_eq!(lazy.metrics().threads, 0);
    /// assert_eq!(lazy.submit(|| 6 * 7).join()?, 42);
    /// assert_eq!(lazy.metrics().threads, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn prestart(mut self, threads: usize) -> Self {
        self.config.first = Some(threads);
        self
    }

    /// Sets when the pool gets more threads than its core size. Default: [`Growth::OnSubmit`].
    ///
    /// ```
    /// use brigade::{Growth, Pool};
    /// let pool = Pool::builder().threads(1..=8).growth(Growth::WhenQueued(10)).build()?;
    /// pool.submit(|| ()).join()?;
    /// assert_eq!(pool.metrics().threads, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn growth(mut self, growth: Growth) -> Self {
        self.config.growth = growth;
        self
    }

    /// Sets how long a thread beyond the core size stays idle before it ends. Default: 60 seconds.
    ///
    /// With a core size of 0, a pool may at times have no thread at all. If the pool then can't start a thread,
    /// submissions fail with [`Reason::NoThread`](crate::Reason::NoThread): the `try_` methods return the job,
    /// [`Pool::execute`](crate::Pool::execute) panics.
    ///
    /// ```
    /// use std::time::Duration;
    /// let builder = brigade::Pool::builder().threads(0..=8);
    /// let pool = builder.keep_alive(Duration::from_millis(1)).build()?;
    /// pool.submit(|| ()).join()?;
    /// while pool.metrics().threads > 0 {
    ///     std::thread::yield_now(); // Its thread ends.
    /// }
    /// assert_eq!(pool.submit(|| 42).join()?, 42, "and another one starts");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn keep_alive(mut self, idle: Duration) -> Self {
        self.config.keep_alive = Some(idle);
        self
    }

    /// Sets how many threads may exist beyond the maximum, each in place of a [blocked](crate::blocking) thread.
    ///
    /// Default: as many as the maximum. At most 4096; with 0 a blocked thread is not replaced. A thread is started
    /// only if there is work for it, and ends once idle for the [keep-alive](Self::keep_alive). While more threads are
    /// blocked, jobs, timers and I/O wait: give as many as calls of [`blocking`](crate::blocking) may wait at once.
    ///
    /// By default, an additional thread is started if all threads are blocked and at least one of them waits inside
    /// a job, in any call of brigade but `blocking`: up to 256. Beyond these, or if this setting is given, the waiting thread runs
    /// any job of the pool inside the wait instead, by class. If such a job needs a lock held across the wait, it
    /// never ends; if it waits for the job beneath it on the stack, it gets
    /// [`WouldDeadlock`](crate::JoinError::WouldDeadlock). A wait that is over returns after the jobs above it
    /// on the stack, and is late by the time that these still take. A [dump][crate::Handle::dump] shows the stack of each
    /// thread, if the jobs are [observed][crate::Builder::observe_jobs]. More spare threads avoid it.
    ///
    /// A thread with less than a quarter of its [stack](Self::stack_size) left runs no further job inside a wait, but
    /// until an eighth is left shares of [broadcasts](crate::Handle::broadcast) and
    /// [local](crate::spawn_local()) futures. Another thread of the pool runs the jobs: a waiting thread, or else
    /// an additional thread, beyond all these numbers. With a [spawner](Self::spawner) the stack is not known: there this
    /// holds inside more than 64 waits.
    ///
    /// A thread whose job unwinds, and waits in a destructor, runs no other job inside that wait: the job would see
    /// [`std::thread::panicking`]. The pool may start an additional thread in its place, beyond this number unless
    /// that is 0. Only the last thread runs jobs there, as in other waits. Calls by the destructor itself see the
    /// panic, as both halves of a [`join`](crate::join()) may.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).spare_threads(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let waits = pool.submit(move || brigade::blocking(|| receiver.recv()));
    /// pool.execute(move || _ = sender.send(42)); // The spare thread runs this.
    /// assert_eq!(waits.join()?, Ok(42));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg_attr(not(feature = "observe"), doc = include_str!("../../guide/without_observe.md"))]
    pub fn spare_threads(mut self, threads: usize) -> Self {
        self.config.spare = Some(threads);
        self
    }

    /// Makes a pool that starts no thread, for a system that has none, such as WebAssembly, or a process that may start no more. Its jobs run
    /// one after the other in waits of threads that have used the pool.
    ///
    /// A thread that waits for a job of this pool, or for anything else in a call of brigade outside of any job, first runs the pool's jobs:
    /// in [`join`](crate::JoinHandle::join), [`block_on`](crate::block_on()), at the end of a [`scope`](crate::Handle::scope), in
    /// [`install`](crate::Handle::install), for room in a pool that is [full](Self::capacity). So do
    /// [`wait_idle`](crate::Handle::wait_idle), [`shutdown`](crate::Handle::shutdown) and the drop of the pool, which run all accepted
    /// jobs. A job that waits runs other jobs meanwhile, and so does a job of another pool that waits for a job of this one.
    ///
    /// Between waits nothing runs: timers fire late, and a job is not begun until a thread waits. The [size](crate::Handle::size) is 1, for
    /// the thread that waits, and settings of threads have no effect. [Local futures](crate::spawn_local) need a thread of their own: a job
    /// of this pool can't spawn one. For a loop of your own use a [`LocalPool`](crate::LocalPool), which runs only when its owner says so.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().without_threads().build()?;
    /// let me = std::thread::current().id();
    /// let job = pool.submit(move || std::thread::current().id() == me);
    /// assert!(!job.is_finished(), "nothing has waited");
    /// assert!(job.join()?, "it ran here");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "use_current_thread")]
    pub fn without_threads(mut self) -> Self {
        link_driven();
        self.config.is_driven = true;
        self
    }

    /// Sets the function that starts the threads. It must start the given thread, or return the error that prevented
    /// this. Default: [`NewThread::start`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// static STARTED: AtomicU32 = AtomicU32::new(0);
    /// let pool = brigade::Pool::builder()
    ///     .threads(2)
    ///     .prestart(2)
    ///     .spawner(|thread| {
    ///         STARTED.fetch_add(1, Ordering::Relaxed);
    ///         thread.start()
    ///     })
    ///     .build()?;
    /// assert_eq!(STARTED.load(Ordering::Relaxed), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawner(
        mut self,
        spawner: impl Fn(NewThread) -> io::Result<Thread> + Send + Sync + 'static,
    ) -> Self {
        self.config.hooks.spawner = Some(Arc::new(spawner));
        self
    }
}
