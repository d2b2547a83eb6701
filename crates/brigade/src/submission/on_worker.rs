//! Jobs for a single worker of a pool.

use std::panic::Location;

use brigade_task::{Callable, Job};

use super::accept::submit_job;
use super::boxed::{make_job, returned, unmade};
use super::job_builder::JobBuilder;
use super::options::Options;
use super::watcher::watcher_of;
use crate::engine::{Key, reach_once};
use crate::handle::JoinHandle;
use crate::values::{Priority, Rejected};

/// Submits a closure to a single thread of a pool; made by [`JobBuilder::on_worker`].
#[derive(Clone, Debug)]
#[must_use = "it submits nothing until one of its verbs is called"]
pub struct JobOnWorker {
    key: Key,
    index: usize,
    options: Options,
}

impl JobBuilder {
    /// Submits to the thread with this [index](crate::current_worker_index), and to no other thread: for work bound
    /// to a thread, such as a thread-local cache or a pinned CPU.
    ///
    /// The closure runs like a share of a [broadcast](crate::Handle::broadcast): before most queued jobs, and beyond
    /// the pool's [capacity](crate::Builder::capacity). It waits while its thread runs another job, even if other
    /// threads are idle, and has no [class](crate::Priority). Missing threads of the [core
    /// size](crate::Builder::threads) are started. If the closure's own thread can't be started, the closure is
    /// cancelled.
    ///
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// for index in [1, 0, 1] {
    ///     let job = pool.job().on_worker(index).submit(brigade::current_worker_index)?;
    ///     assert_eq!(job.join()?, Some(index));
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "execute_on")]
    #[doc(alias = "submit_on")]
    pub fn on_worker(self, index: usize) -> JobOnWorker {
        JobOnWorker { key: self.key, index, options: self.options }
    }
}

impl JobOnWorker {
    /// Submits a closure, to be run once.
    ///
    /// # Errors
    /// Returns the closure with [`Reason::NoSuchWorker`](crate::Reason::NoSuchWorker) if the pool has no thread with
    /// this index, or for the reasons of [`JobBuilder::execute`].
    ///
    /// # Examples
    /// ```
    /// use brigade::Reason;
    /// let pool = brigade::Pool::new(2);
    /// pool.job().on_worker(1).execute(|| println!("on the second thread"))?;
    /// let rejected = pool.job().on_worker(2).execute(|| println!("there is no third one"));
    /// assert_eq!(rejected.unwrap_err().reason(), Reason::NoSuchWorker);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(self, job: F) -> Result<(), Rejected<F>> {
        self.submit(job).map(drop)
    }

    /// Submits a closure, to be run once, and returns a handle for the outcome.
    ///
    /// A job of the pool that joins the closure waits for the closure's thread. On that thread, the join runs the
    /// closure.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// assert_eq!(pool.job().on_worker(0).submit(|| 6 * 7)?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let Self { key, index, options } = self;
        let (name, class) = (options.carried.name.as_ref(), Some(Priority::Normal));
        let watcher = watcher_of(key, Location::caller(), name, class);
        let made = make_job(watcher, None, options, None, Box::new(job));
        let sent = submit_job(made, |share| send(key, index, share), unmade::<T>);
        sent.map(|handle| JoinHandle::of_bound(handle, key)).or_else(returned)
    }
}

/// Sends a share to a worker.
///
/// # Errors
/// Returns the share if it is not accepted.
fn send(key: Key, index: usize, share: Job) -> Result<(), Rejected<Job>> {
    reach_once(key, |at| match at.shared() {
        Some(shared) => shared
            .send_to(index, at.worker().is_some(), share)
            .map_err(|(share, reason)| at.reject(share, reason)),
        None => Err(at.rejected(share)),
    })
}
