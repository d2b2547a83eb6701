//! Jobs with their own settings.

use core::convert::identity;
use core::iter;
use std::borrow::Cow;
use std::panic::Location;
use std::time::Instant;

use brigade_task::{Callable, Job, is_large};

use super::accept::{accept, inherits, submit_job};
use super::boxed::{make_job, unbox, unmade};
use super::watcher::watcher_of;
use super::{Options, Receipt, Submission};
use crate::engine::{Key, class_here, reach_once};
use crate::handle::{Handle, JoinHandle};
use crate::values::{Priority, Rejected, WhenFull, closure_of};

/// Submits jobs with their own settings; made by [`Handle::job`] or [`brigade::job`](crate::job).
///
/// First call the settings: a [name](Self::name), [values](Self::with), a [priority](Self::priority), a
/// [deadline](Self::deadline), a [policy for a full pool](Self::when_full), a time ([`after`](Self::after),
/// [`at`](Self::at), [`every`](Self::every)). Then call a method that submits. Each of these methods returns the job if
/// the pool does not accept it.
///
/// | method | submits |
/// |---|---|
/// | [`execute`](Self::execute), [`submit`](Self::submit), [`spawn`](Self::spawn) | a single job, as the methods of
/// [`Handle`] do |
/// | [`execute_batch`](Self::execute_batch), [`submit_batch`](Self::submit_batch) | several closures at once |
/// | [`dispatch`](Self::dispatch) | closures that must start now, or not at all |
/// | [`on_worker`](Self::on_worker) | a closure bound to a single thread |
/// | [`reserve`](Self::reserve) | nothing yet: waits for room, as a future |
///
/// ```
/// use brigade::WhenFull;
/// use std::time::{Duration, Instant};
/// let pool = brigade::Pool::builder().threads(1).capacity(10).build()?;
/// let soon = Instant::now() + Duration::from_secs(60);
/// let answer = pool.job().name("answer").deadline(soon).when_full(WhenFull::Reject).submit(|| 42)?;
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it submits nothing until one of its verbs is called"]
pub struct JobBuilder {
    pub(crate) key: Key,
    pub(crate) when_full: Option<WhenFull>,
    pub(crate) options: Options,
}

impl Handle {
    /// Returns a builder for a job with its own settings: a name, values, a priority, a deadline, a policy for a full
    /// pool, a time. The builder also submits batches.
    ///
    /// ```
    /// use brigade::{Pool, WhenFull};
    /// use std::time::Duration;
    /// let pool = Pool::builder().threads(1).capacity(1).build()?;
    /// for _ in 0..100 {
    ///     pool.job().when_full(WhenFull::BlockFor(Duration::from_secs(60))).execute(|| ())?;
    /// }
    /// let answer = pool.job().name("answer").submit(brigade::current_job_name)?;
    /// assert_eq!(answer.join()?.as_deref(), Some("answer"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn job(&self) -> JobBuilder {
        JobBuilder { key: self.key, when_full: None, options: Options::default() }
    }
}

impl JobBuilder {
    /// Names the job, for [`current_job_name`](crate::current_job_name), and for everything that
    /// [observes][crate::Builder::observe_jobs] the pool's jobs.
    ///
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// let name = pool.job().name("resize").submit(brigade::current_job_name)?;
    /// assert_eq!(name.join()?.as_deref(), Some("resize"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg_attr(not(feature = "observe"), doc = include_str!("../guide/without_observe.md"))]
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.options.carried.name = Some(name.into());
        self
    }

    /// Adds a value that follows the job: a request, a tenant, a budget. The job reads it by
    /// [`inherited`](crate::inherited()). It replaces a value of the same type, given before or inherited.
    ///
    /// These see the value:
    /// - the closure, each run of a periodic closure, and each poll of a future, also while they are dropped;
    /// - their [forks](crate::join()), [scopes](crate::scope()), loops and [installed](Handle::install) calls, on any
    ///   thread;
    /// - the jobs that they submit, to any pool and by any method, and what these submit: a job inherits the values at
    ///   its submission. A job of a [`TaskSet`](crate::TaskSet) inherits those of the call that adds it, a job of a
    ///   [map](Handle::map) those of the call that takes the item.
    ///
    /// It is dropped with the last of these jobs. A panic of its destructor is contained.
    ///
    /// A job with values takes the way of a job with a name, and so do all jobs that it submits. Other jobs cost
    /// nothing more.
    ///
    /// ```
    /// use brigade::{Pool, inherited, join};
    /// struct Tenant(&'static str);
    /// let pool = Pool::new(2);
    /// let job = pool.job().with(Tenant("blue")).submit(|| {
    ///     let tenant = || inherited::<Tenant>().map(|tenant| tenant.0);
    ///     let (left, right) = join(tenant, tenant);
    ///     (left, right, brigade::submit(tenant).join())
    /// })?;
    /// let (left, right, submitted) = job.join()?;
    /// assert_eq!([left, right, submitted?], [Some("blue"); 3]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "task_local")]
    #[doc(alias = "scoped")]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.options.carried.add(value);
        self
    }

    /// Sets the [class](Priority) of the job. Default: the class of the submitting job, if it is a job of the same
    /// pool, else [`Normal`](Priority::Normal).
    ///
    /// ```
    /// use brigade::{Priority, current_priority};
    /// let pool = brigade::Pool::new(1);
    /// let handle = pool.handle();
    /// let child = pool.job().priority(Priority::High).submit(move || handle.submit(current_priority))?;
    /// assert_eq!(child.join()?.join()?, Priority::High);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn priority(mut self, class: Priority) -> Self {
        self.options.class = Some(class);
        self
    }

    /// Sets the latest time at which the job may start: if it is still queued at `deadline`, it is
    /// [cancelled](crate::Cause::Deadline) when its turn comes. Until then it counts as queued.
    ///
    /// A job that has started by then continues. In a pool that [blocks](WhenFull::Block) when it is full, the
    /// submission waits only until `deadline`, and is then rejected.
    ///
    /// A job with a time ([`after`](Self::after), [`at`](Self::at), [`every`](Self::every)) has no deadline.
    ///
    /// ```
    /// use brigade::{Cause, JoinError};
    /// use std::time::{Duration, Instant};
    /// let pool = brigade::Pool::new(1);
    /// let (now, soon) = (Instant::now(), Instant::now() + Duration::from_secs(60));
    /// let late = pool.job().deadline(now).submit(|| 42)?;
    /// assert!(matches!(late.join(), Err(JoinError::Cancelled(Cause::Deadline))));
    /// assert_eq!(pool.job().deadline(soon).submit(|| 42)?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Sets the policy for a full pool, in place of the [pool's policy](crate::Builder::when_full). Has no effect in
    /// a pool without a [capacity](crate::Builder::capacity).
    ///
    /// ```
    /// use brigade::{Pool, Reason, WhenFull};
    /// use std::time::Duration;
    /// let pool = Pool::builder().threads(1).capacity(1).build()?;
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// pool.execute(move || _ = ends.recv()); // Runs, or is about to.
    /// let briefly = WhenFull::BlockFor(Duration::from_millis(1));
    /// let jobs = || pool.job().when_full(briefly).execute(|| ());
    /// let rejected = (0..3).find_map(|_| jobs().err()); // There is room for one.
    /// assert_eq!(rejected.map(|rejected| rejected.reason()), Some(Reason::Full));
    /// drop(end);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = Some(policy);
        self
    }

    /// Submits a closure, to be run once.
    ///
    /// # Errors
    /// Returns the closure if the pool has been closed or dropped, has no thread and can't start one, belongs to the
    /// parent of a fork, or is full and its [policy](Self::when_full) is to reject jobs.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// pool.job().name("hello").execute(|| println!("hello"))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn execute<F: Callable + Send + 'static>(self, job: F) -> Result<(), Rejected<F>> {
        self.submit_job(job, Location::caller(), identity)
    }

    /// Submits a closure, to be run once, and returns a handle for the outcome.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(1);
    /// assert_eq!(pool.job().name("answer").submit(|| 42)?.join()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(self, job: F) -> Result<JoinHandle<T>, Rejected<F>>
    where
        F: Callable<T> + Send + 'static,
        T: Send + 'static,
    {
        let key = self.key;
        self.submit_job(job, Location::caller(), |handle| JoinHandle::new(handle, key))
    }

    fn submit_job<F, R: Receipt, H>(
        self,
        work: F,
        place: &'static Location<'static>,
        handle: impl FnOnce(R) -> H,
    ) -> Result<H, Rejected<F>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let Self { key, when_full, options } = self;
        if const { is_large::<F>() } {
            let submission = Submission { work: (), when_full, options: Some(options), place };
            return submission.submit_large(work, key, handle);
        }
        let submitted = match key.is_plain() && !options.is_stored() && !inherits(key) {
            true => {
                let accept = |job: R::Job| accept(key, options.class, job.into());
                submit_job(R::make(work), accept, closure_of)
            }
            false => Submission { work, when_full, options: Some(options), place }.submit(key),
        };
        submitted.map(handle)
    }

    /// Submits several closures with one publication, and wakes as many sleeping workers as there are jobs.
    ///
    /// The iterator is exhausted before any closure is accepted. With any setting, from a job with [values](Self::with),
    /// and in a bounded or [observed][crate::Builder::observe_jobs] pool, the closures are accepted individually, as by
    /// [`execute`](Self::execute).
    ///
    /// # Errors
    /// Returns the closures that were not accepted, in order, for the reasons of [`execute`](Self::execute). Any
    /// closures before them were accepted and will run.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let pool = brigade::Pool::new(2);
    /// pool.job().execute_batch((0..10).map(|number| {
    ///     let sender = sender.clone();
    ///     move || _ = sender.send(number)
    /// }))?;
    /// assert_eq!(receiver.iter().take(10).sum::<i32>(), 45);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg_attr(not(feature = "observe"), doc = include_str!("../guide/without_observe.md"))]
    #[track_caller]
    pub fn execute_batch<I>(self, jobs: I) -> Result<(), Rejected<Vec<I::Item>>>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        self.submit_jobs(jobs.into_iter().collect(), Location::caller()).map(|_: Vec<()>| ())
    }

    /// Like [`execute_batch`](Self::execute_batch), and returns a handle for the outcome of each, in order.
    ///
    /// # Errors
    /// As for [`execute_batch`](Self::execute_batch).
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let squares = pool.job().submit_batch((1..=3).map(|n| move || n * n))?;
    /// let squares: Result<Vec<_>, _> = squares.into_iter().map(|square| square.join()).collect();
    /// assert_eq!(squares?, [1, 4, 9]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn submit_batch<I, T>(self, jobs: I) -> Result<Vec<JoinHandle<T>>, Rejected<Vec<I::Item>>>
    where
        I: IntoIterator,
        I::Item: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let key = self.key;
        let handles = self.submit_jobs(jobs.into_iter().collect(), Location::caller())?;
        Ok(handles.into_iter().map(|handle| JoinHandle::new(handle, key)).collect())
    }

    fn submit_jobs<F, R: Receipt>(
        self,
        jobs: Vec<F>,
        place: &'static Location<'static>,
    ) -> Result<Vec<R>, Rejected<Vec<F>>>
    where
        F: FnOnce() -> R::Output + Send + 'static,
    {
        let is_set = self.options.is_stored() || self.options.class.is_some();
        if self.key.is_plain() && !is_set && !inherits(self.key) {
            return reach_once(self.key, |at| at.submit_batch(jobs));
        }
        let mut jobs = jobs.into_iter();
        let submit = |job| self.clone().submit_job(job, place, identity);
        let receipts = jobs.by_ref().map(submit).collect::<Result<_, _>>();
        // Returns the first rejected closure and all after it.
        receipts.map_err(|rejected| rejected.map(|job| iter::once(job).chain(jobs).collect()))
    }

    /// Hands closures to idle threads of the pool, one each, and wakes all these threads at once. Returns the
    /// closures whose thread was taken by other work, followed by the unread rest of the iterator.
    ///
    /// No job waits behind a different job, and no thread is started (see
    /// [`Handle::prestart`](crate::Handle::prestart)). Use it to submit a few jobs at once after a quiet period if
    /// each job must start soon; to keep threads busy, use [`execute_batch`](Self::execute_batch). A thread is idle
    /// once it has found nothing to do, whether it sleeps or still [spins](crate::Idle).
    ///
    /// Before the first job is handed over, a job for each thread idle at that moment is taken from the iterator.
    /// If the iterator panics, no job is handed over. The pool's [capacity](crate::Builder::capacity) does not apply.
    /// A closed pool accepts no job.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// let pool = brigade::Pool::builder().threads(2).prestart(2).build()?;
    /// let (done, results) = mpsc::channel();
    /// let work = (1..=5).map(|number| {
    ///     let done = done.clone();
    ///     move || _ = done.send(number)
    /// });
    /// for not_now in pool.job().dispatch(work) {
    ///     not_now(); // No thread is idle: run it here.
    /// }
    /// assert_eq!(results.iter().take(5).sum::<i32>(), 15);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "these jobs were not accepted"]
    #[track_caller]
    pub fn dispatch<I>(self, jobs: I) -> impl Iterator<Item = I::Item> + use<I>
    where
        I: IntoIterator,
        I::Item: FnOnce() + Send + 'static,
    {
        let Self { key, options, .. } = self;
        let class = options.class.unwrap_or_else(|| class_here(key));
        let watcher =
            watcher_of(key, Location::caller(), options.carried.name.as_ref(), Some(class));
        let is_plain = !watcher.watches() && !options.is_stored() && !inherits(key);
        let mut jobs = jobs.into_iter();
        let refused = reach_once(key, |at| {
            let mut made = jobs.by_ref().map(|work| match is_plain {
                true => Job::new(work),
                false => {
                    make_job::<()>(watcher.clone(), None, options.clone(), None, Box::new(work)).0
                }
            });
            Some(at.shared()?.dispatch(at.worker().is_some(), class, &mut made))
        });
        let back = |job| if is_plain { closure_of(job) } else { unbox(unmade::<()>(job)) };
        // Withdrawn now, because the caller may drop the iterator: these jobs have no end.
        let refused: Vec<_> = refused.into_iter().flatten().map(back).collect();
        refused.into_iter().chain(jobs)
    }
}
