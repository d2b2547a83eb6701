//! Waiting for a future on a thread.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::awaited::apart;
use brigade_sync::budget::poll_limited;

use crate::engine;
use crate::engine::{
    BlockedThread, Key, LOOK_AGAIN, ThisThread, Worker, catch_up, entered, pool_of_work,
    sleep_outside, wait_as,
};
use crate::handle::Handle;
use crate::handle::awaited::{Noted, Polled, WaitState};
use crate::handle::deadlock::{AwaitedJobs, Waiting};
#[cfg(feature = "io")]
use crate::io::enter_default;
use crate::submission::Carried;

/// Runs a future to completion on this thread, which sleeps while the future waits.
///
/// The future's [spawned](crate::spawn()) jobs, [timers](crate::time) and I/O belong to the [current
/// pool](Handle::current), or else to the newest [`LocalPool`](crate::LocalPool) owned by this thread, which runs
/// meanwhile, or else to the [default pool](crate::default_pool). Use [`Handle::block_on`] to choose a pool. If the
/// future awaits handles of jobs of a `LocalPool` owned by this thread, that pool runs in its place.
///
/// May be called anywhere, even inside itself. On a worker, the thread is [blocked](crate::blocking) while it sleeps:
/// the pool may run an extra thread in the meantime. If the future awaits handles of woken futures of the worker's
/// pool, those futures are polled here too. The future need not be `Send`, and stays on this thread's stack.
///
/// On a worker, if the future waits only for handles of jobs that wait for the calling job, a handle is ready with
/// [`WouldDeadlock`](crate::JoinError::WouldDeadlock), as from [`join`](crate::JoinHandle::join).
///
/// # Panics
/// If the future does.
///
/// # Examples
/// ```
/// let pool = brigade::Pool::new(1);
/// let parts = [pool.spawn(async { 40 }), pool.spawn(async { 2 })];
/// let sum = brigade::block_on(async {
///     let mut sum = 0;
///     for part in parts {
///         sum += part.await?;
///     }
///     Ok::<_, brigade::JoinError>(sum)
/// });
/// assert_eq!(sum?, 42);
/// # Ok::<(), brigade::JoinError>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let future = pin!(future);
    enter_default(|| wait_for(future))
}

#[cfg(not(feature = "io"))]
fn enter_default<R>(call: impl FnOnce() -> R) -> R {
    call()
}

impl Handle {
    /// Runs a future to completion on this thread, with this pool as the current pool: the future's
    /// [spawned](crate::spawn()) jobs, timers and I/O belong to this pool.
    ///
    /// The future need not be `Send`. See [`block_on`](crate::block_on) for waits on a worker.
    ///
    /// # Panics
    /// If the future does.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let sum = pool.block_on(async {
    ///     let parts = [brigade::spawn(async { 40 }), brigade::submit(|| 2)];
    ///     let mut sum = 0;
    ///     for part in parts {
    ///         sum += part.await?;
    ///     }
    ///     Ok::<_, brigade::JoinError>(sum)
    /// })?;
    /// assert_eq!(sum, 42);
    /// assert_eq!(pool.metrics().accepted, 2);
    /// # Ok::<(), brigade::JoinError>(())
    /// ```
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let future = pin!(future);
        self.enter(|| wait_for(future))
    }
}

/// Runs a future to completion, without entering a pool.
pub(crate) fn wait_for<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let thread = BlockedThread::of_this_thread();
    let (mut output, carried) = (None, Carried::here());
    // The thread may act as another worker, outside of the calling code's job.
    let mut wait = |worker: Option<&Worker>| {
        carried.attach(&mut || {
            let future = future.as_mut();
            output = Some(match worker {
                None if pool_of_work().is_none() => wait_outside(future, &thread),
                _ => wait_for_jobs(future, &thread, worker),
            });
        });
    };
    apart(|| wait_as(entered(), &mut wait));
    let Some(output) = output else { unreachable!("it is called once") };
    output
}

fn wait_outside<F: Future>(mut future: Pin<&mut F>, thread: &ThisThread) -> F::Output {
    let waker = Waker::from((*thread).clone());
    let mut context = Context::from_waker(&waker);
    loop {
        thread.take_token();
        if let (Poll::Ready(output), _) = poll_limited(|| future.as_mut().poll(&mut context)) {
            return output;
        }
        Woken::new(thread, Noted::default()).wait();
    }
}

/// Waits on a worker, or inside work off a pool, and knows for which jobs.
fn wait_for_jobs<F: Future>(
    mut future: Pin<&mut F>,
    thread: &ThisThread,
    worker: Option<&Worker>,
) -> F::Output {
    let mut poll = |polled: &Polled| loop {
        thread.take_token();
        let poll = |waker: &Waker| future.as_mut().poll(&mut Context::from_waker(waker));
        let (result, has_yielded) = poll_limited(|| polled.poll(poll));
        if result.0.is_ready() || !has_yielded {
            return result;
        }
        // A handle that has yielded is ready, and not among the awaited jobs.
        match worker {
            Some(worker) => worker.give_way(),
            None => catch_up(entered()),
        }
    };
    // As long as no handle is polled, this allocates nothing.
    let mut polled = Polled::new((*thread).clone().into(), (*thread).clone());
    loop {
        match poll(&polled) {
            (Poll::Ready(output), _) => return output,
            (Poll::Pending, jobs) if jobs.is_empty() => {
                Woken::new(thread, polled.noted.take()).wait();
            }
            (Poll::Pending, _) => break,
        }
    }
    // The future waits for jobs, and maybe for other events.
    let mut other = Other::new(thread);
    polled = Polled::new(other.waker(), (*thread).clone());
    loop {
        let mut jobs = match poll(&polled) {
            (Poll::Ready(output), _) => return output,
            (Poll::Pending, jobs) => jobs,
        };
        if !jobs.is_empty() && other.has_clones() {
            // The clones may belong to finished waits: polls again, with a waker that has no clones yet.
            other.retire();
            other = Other::new(thread);
            polled.set_waker(other.waker());
            jobs = match poll(&polled) {
                (Poll::Ready(output), _) => return output,
                (Poll::Pending, jobs) => jobs,
            };
        }
        let mut wait = Woken::new(thread, polled.noted.take());
        let is_beside = other.has_clones();
        if !jobs.is_empty() && !is_beside {
            wait.jobs = Some(AwaitedJobs::Any(jobs.clone()));
        }
        let beside = is_beside.then(|| Waiting::beside(|| AwaitedJobs::Any(jobs.clone())));
        wait.wait();
        drop(beside);
        if wait.is_circular {
            polled.refuse(jobs[0]);
        }
    }
}

/// A wait until a thread is woken: by the end of any job in `jobs`, or by any event if that is `None`.
struct Woken<'a> {
    thread: &'a ThisThread,
    is_woken: bool,
    jobs: Option<AwaitedJobs>,
    listed: Option<Waiting>,
    is_circular: bool,
    noted: Noted,
}

impl<'a> Woken<'a> {
    fn new(thread: &'a ThisThread, noted: Noted) -> Self {
        let ([is_woken, is_circular], jobs, listed) = ([false; 2], None, None);
        Self { thread, is_woken, jobs, listed, is_circular, noted }
    }

    fn wait(&mut self) {
        let key = self.noted.owned.or_else(|| entered().and_then(Key::if_threadless));
        wait_as(key, &mut |worker| match worker {
            Some(worker) if worker.shared.key.is_here() => {
                if self.thread.has_token() {
                    // The future was woken during its poll, most often by itself.
                    worker.give_way();
                }
                worker.run_until(self);
            }
            // In a child forked by the future, the pool does not exist.
            Some(_) => _ = self.thread.park(None),
            None => {
                if self.thread.has_token() {
                    catch_up(key);
                }
                sleep_outside(key, self);
            }
        });
    }
}

impl engine::Awaited for Woken<'_> {
    fn is_over(&mut self) -> bool {
        self.is_woken || self.is_circular || self.thread.has_token()
    }

    fn thread(&self) -> Option<&Arc<BlockedThread>> {
        Some(self.thread)
    }

    fn slept(&mut self, has_token: bool) {
        // An awaited future may have been woken.
        self.is_woken |= has_token || self.noted.future.is_some();
    }

    fn register(&mut self, _: &Arc<BlockedThread>) -> bool {
        if let Some(jobs) = self.jobs.take() {
            self.listed = Waiting::begin(jobs);
            self.is_circular = self.listed.is_none();
        }
        !self.is_over()
    }

    fn pool(&self) -> Option<Key> {
        self.listed.as_ref().and(self.noted.pool())
    }

    fn patience(&self) -> Option<Duration> {
        (self.noted.future == Some(WaitState::Queued)).then_some(LOOK_AGAIN)
    }
}

/// A waker of the thread for any event but the end of a job.
struct Other(Arc<Wakes>);

struct Wakes {
    thread: Arc<BlockedThread>,
    /// Set when the future has a newer waker. Code that replaces this waker may wake it, as if it belonged to another
    /// task.
    is_retired: AtomicBool,
}

impl Other {
    fn new(thread: &ThisThread) -> Self {
        let (thread, is_retired) = ((*thread).clone(), AtomicBool::new(false));
        Self(Arc::new(Wakes { thread, is_retired }))
    }

    fn waker(&self) -> Waker {
        self.0.clone().into()
    }

    /// Whether the waker has clones besides the polling waker.
    fn has_clones(&self) -> bool {
        Arc::strong_count(&self.0) > 2
    }

    /// Makes wake-ups of this waker void: the next poll has a new waker, and sees every event that this waker would
    /// have reported.
    fn retire(&self) {
        // Ordering: Relaxed: a wake-up that misses the store is merely spurious.
        self.0.is_retired.store(true, Ordering::Relaxed);
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_retired.load(Ordering::Relaxed) {
            self.thread.unpark();
        }
    }
}
