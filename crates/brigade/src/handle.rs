//! Submitting to a pool from anywhere.

use brigade_task::Job;

use crate::engine::{self, CURRENT, Worker};
use crate::join::JoinHandle;
use crate::registry;
use crate::rejected::Rejected;
use crate::submission::{self, Submission};

/// Names a pool, to submit to it from anywhere.
///
/// One word, `Copy`. It does not keep the pool alive: once the pool has been shut down or dropped, every
/// submission comes back as [`Rejected`], and it never reaches another pool. The same holds in the child of a fork, where
/// the pool's threads are not ([`Reason::Forked`](crate::Reason::Forked)).
///
/// From a job of the same pool a submission goes to the worker's own queue; from anywhere else, a job of
/// another pool included, to the queue of the pool it names.
///
/// ```
/// let pool = brigade::Pool::new(2);
/// let handle = pool.handle();
/// let sum = pool.submit(move || {
///     let child = handle.submit(|| 20).expect("the pool runs this, so it is there");
///     child.join().unwrap() + 22
/// });
/// assert_eq!(sum.join()?, 42);
/// pool.shutdown(brigade::Shutdown::Drain);
/// assert!(handle.execute(|| unreachable!()).is_err());
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) key: u64,
}

impl Handle {
    pub(crate) fn new(key: u64) -> Self {
        Self { key }
    }

    /// The pool of the worker that this is called on; `None` on any other thread.
    pub fn current() -> Option<Self> {
        CURRENT.with(|worker| worker.map(|worker| Self::new(worker.key())))
    }

    /// Accepts a closure, to be run once.
    ///
    /// Never blocks, unless the pool is bounded and [does so when full](crate::WhenFull). Does not allocate if the captures
    /// have at most 24 bytes (16 in a bounded pool) and the alignment of a word.
    ///
    /// # Errors
    /// Gives the closure back if the pool has been shut down or dropped, has no thread and can't start one, is full
    /// and [gives jobs back then](crate::WhenFull), or is that of a process that this one was forked from. A job of a
    /// pool that is [draining](crate::Shutdown::Drain) may still submit to it.
    #[inline(always)]
    pub fn execute<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Rejected<F>> {
        if registry::is_bounded(self.key) {
            return Submission::new(job).hand_in(self.key);
        }
        CURRENT.with(|worker| match worker {
            Some(worker) if worker.is_of(self.key) => {
                worker.execute(job).map_err(|closure| self.rejected(closure))
            }
            // A job of its own here: were `job` itself passed on by reference, it would have to lie in memory.
            _ => self.accept_outside(Job::new(job)).map_err(|job| self.rejected(closure_of(job))),
        })
    }

    #[inline(never)]
    fn accept_outside(self, job: Job) -> Result<(), Job> {
        match registry::with(self.key, job, |core, job| core.inject(job)) {
            Ok(result) => result,
            Err(job) => Err(job),
        }
    }

    /// Accepts a closure, to be run once, and gives a handle for its outcome. One allocation; blocks where
    /// [`execute`](Self::execute) does.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn submit<F, T>(&self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if registry::is_bounded(self.key) {
            let handle = Submission::new(job).hand_in(self.key)?;
            return Ok(JoinHandle::new(handle, self.key));
        }
        let (job, handle) = Job::with_handle(job);
        self.accept(job).map_err(|job| self.rejected(closure_of(job)))?;
        Ok(JoinHandle::new(handle, self.key))
    }

    /// Accepts several closures with one publication, and wakes as many sleeping workers as there are jobs.
    ///
    /// The iterator runs to its end before anything is accepted. A bounded pool accepts them one by one, each as
    /// [`execute`](Self::execute) would.
    ///
    /// # Errors
    /// Gives back the closures that were not accepted, in order, for the reasons of [`execute`](Self::execute);
    /// those before them, if any, were accepted and will run.
    pub fn execute_batch<I>(&self, jobs: I) -> Result<(), Rejected<Vec<I::Item>>>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        if registry::is_bounded(self.key) {
            return submission::hand_in_all(self.key, jobs.into_iter());
        }
        let jobs = jobs.into_iter().map(Job::new).collect();
        self.accept_batch(jobs).map_err(|jobs| {
            let jobs = jobs.into_iter().map(closure_of).collect();
            self.rejected(jobs)
        })
    }

    /// Hands closures to threads of the pool that are idle, one to each, and wakes all of these at once; gives back what
    /// it has no idle thread for, in order: now or never.
    ///
    /// Nothing is queued, no job waits behind another, and no thread is started (see
    /// [`prestart`](crate::Builder::prestart)). Of use where a few jobs come at once after a quiet time and each has to begin
    /// soon; [`execute_batch`](Self::execute_batch) is what keeps threads busy. A thread is idle once it has found nothing to
    /// do, whether it sleeps or still [looks out](crate::Idle) for more.
    ///
    /// The iterator is asked for one job for each thread that is idle when this is called, before the first is handed over;
    /// if it panics none is. What comes back are those of them that somebody else's work was quicker for, and the rest
    /// of the iterator, which has not been looked at. A [capacity](crate::Builder::capacity) is no matter here. A pool that
    /// is shut down gives everything back.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::builder().threads(2).prestart().build()?;
    /// let (done, results) = mpsc::channel();
    /// let work = (1..=5).map(|number| {
    ///     let done = done.clone();
    ///     move || done.send(number).unwrap()
    /// });
    /// for not_now in pool.handle().dispatch(work) {
    ///     not_now(); // Nobody is idle: we do it ourselves.
    /// }
    /// assert_eq!(results.iter().take(5).sum::<i32>(), 15);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "these jobs were handed to nobody"]
    pub fn dispatch<I>(&self, jobs: I) -> impl Iterator<Item = I::Item> + use<I>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        let jobs = jobs.into_iter();
        CURRENT.with(|worker| match worker.filter(|worker| worker.is_of(self.key)) {
            Some(worker) => engine::dispatch(worker.core(), Some(worker), jobs),
            // By a count of our own: the iterator is code of the user's, and may submit elsewhere.
            None => match registry::find(self.key) {
                Some(core) => engine::dispatch(&core, None, jobs),
                None => Vec::new().into_iter().chain(jobs),
            },
        })
    }

    /// Whether the pool has been closed, shut down or dropped, is being so, or is that of a process that this one was
    /// forked from.
    pub fn is_closed(&self) -> bool {
        registry::with(self.key, (), |core, ()| core.is_closed()).unwrap_or(true)
    }

    /// Gives work back that the pool did not accept.
    #[cold]
    pub(crate) fn rejected<W>(self, work: W) -> Rejected<W> {
        Rejected::new(work, registry::reason(self.key))
    }

    pub(crate) fn accept(self, job: Job) -> Result<(), Job> {
        self.route(job, Worker::submit, |core, job| core.inject(job))
    }

    fn accept_batch(self, jobs: Vec<Job>) -> Result<(), Vec<Job>> {
        self.route(jobs, Worker::submit_batch, |core, jobs| core.inject_batch(jobs))
    }

    /// Takes work to the worker we are on, if it is one of the pool's, else to the pool, if it is there.
    fn route<W>(
        self,
        work: W,
        inside: impl FnOnce(&Worker, W) -> Result<(), W>,
        outside: impl FnOnce(&crate::engine::Core, W) -> Result<(), W>,
    ) -> Result<(), W> {
        CURRENT.with(|worker| match worker {
            Some(worker) if worker.is_of(self.key) => inside(worker, work),
            _ => match registry::with(self.key, work, outside) {
                Ok(result) => result,
                Err(work) => Err(work),
            },
        })
    }
}

/// The closure that a job was made of.
pub(crate) fn closure_of<F: 'static>(job: Job) -> F {
    match job.into_closure() {
        Ok(closure) => closure,
        Err(_) => unreachable!("a rejected job is what it was made of, and nobody has run it"),
    }
}
