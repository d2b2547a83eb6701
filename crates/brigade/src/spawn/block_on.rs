//! Waiting for a future on a thread.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::budget::poll_limited;

use crate::awaited::{Job, Polled};
use crate::deadlock::{Awaited, Target, Waiting};
use crate::engine::{BlockedThread, CURRENT, PoolWait, ThisThread, Worker};
use crate::handle::Handle;
#[cfg(feature = "io")]
use crate::io::enter_default;

/// Runs a future to completion on this thread, which sleeps while the future waits.
///
/// The jobs that it [spawns](crate::spawn()), its [timers](crate::time) and its I/O belong to the [current
/// pool](Handle::current), or else to the [default pool](crate::default_pool). Use [`Handle::block_on`] to name a pool.
///
/// May be called anywhere, even inside itself. On a worker of a pool, the thread is [blocked](crate::blocking) while it sleeps:
/// the pool may have another one in its place. The future need not be `Send`, and stays on this thread's stack.
///
/// On a worker, a future that waits only for handles of jobs of the pool does not wait forever. If none of these jobs could
/// ever end, one of the handles is ready with [`WouldDeadlock`](crate::JoinError::WouldDeadlock), as from
/// [`join`](crate::JoinHandle::join). A future that also waits for anything else may wait forever: for a
/// [local](crate::spawn_local) future of that worker, or for any other job of the pool once all threads that the pool may have,
/// [spare ones](crate::Builder::spare_threads) included, are blocked.
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
    enter_default(|| wait_for(future))
}

#[cfg(not(feature = "io"))]
fn enter_default<R>(call: impl FnOnce() -> R) -> R {
    call()
}

impl Handle {
    /// Runs a future to completion on this thread, with this pool as the current one: the jobs that it
    /// [spawns](crate::spawn()), its timers and its I/O belong to it.
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
        self.enter(|| wait_for(future))
    }
}

fn wait_for<F: Future>(future: F) -> F::Output {
    let future = pin!(future);
    let thread = BlockedThread::of_this_thread();
    CURRENT.with(|worker| match worker {
        Some(worker) => wait_on_worker(future, &thread, worker),
        None => wait_outside(future, &thread),
    })
}

fn wait_outside<F: Future>(mut future: Pin<&mut F>, thread: &ThisThread) -> F::Output {
    let waker = Waker::from((*thread).clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let (Poll::Ready(output), _) = poll_limited(|| future.as_mut().poll(&mut context)) {
            return output;
        }
        thread.park(None);
    }
}

fn wait_on_worker<F: Future>(
    mut future: Pin<&mut F>,
    thread: &ThisThread,
    worker: &Worker,
) -> F::Output {
    let mut poll = |polled: &Polled| loop {
        let poll = |waker: &Waker| future.as_mut().poll(&mut Context::from_waker(waker));
        let (result, has_yielded) = poll_limited(|| polled.poll(poll));
        if result.0.is_ready() || !has_yielded {
            return result;
        }
        // A handle that has yielded is ready, and not among the jobs that it waits for. But for this thread, no other may fire timers.
        worker.poll_events();
    };
    // As long as no handle is polled, this allocates nothing.
    let plain = Waker::from((*thread).clone());
    let mut polled = Polled::new(plain.clone(), plain);
    loop {
        match poll(&polled) {
            (Poll::Ready(output), _) => return output,
            (Poll::Pending, jobs) if jobs.is_empty() => worker.wait_in_job(thread),
            (Poll::Pending, _) => break,
        }
    }
    // It waits for jobs, and maybe for something else.
    let wait = worker.begin_wait(thread);
    let mut other = Other::new(thread);
    polled = Polled::new(other.waker(), wait.waker());
    loop {
        wait.reset();
        let mut jobs = match poll(&polled) {
            (Poll::Ready(output), _) => return output,
            (Poll::Pending, jobs) => jobs,
        };
        if !jobs.is_empty() && other.has_clones() {
            // The clones may belong to waits that are over: polls again, with a waker that has no clone yet.
            other.retire();
            other = Other::new(thread);
            polled.set_waker(other.waker());
            jobs = match poll(&polled) {
                (Poll::Ready(output), _) => return output,
                (Poll::Pending, jobs) => jobs,
            };
        }
        if jobs.is_empty() || other.has_clones() {
            worker.wait_in_job(thread);
        } else if !wait_for_jobs(&jobs, &wait, worker, thread) {
            polled.refuse(jobs[0].id);
        }
    }
}

/// Wakes the thread for anything but the end of a job.
struct Other(Arc<Wakes>);

struct Wakes {
    thread: Arc<BlockedThread>,
    /// The future has a newer waker. Code that replaces this one may wake it, as if it were that of another task.
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

    /// Whether there is a clone of the waker beside the one that polls.
    fn has_clones(&self) -> bool {
        Arc::strong_count(&self.0) > 2
    }

    /// Makes wakes of this waker void: the next poll has another one, and sees what this one would have been woken for.
    fn retire(&self) {
        // Ordering: Relaxed: a wake that comes before it is merely spurious.
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

/// Sleeps until one of these jobs may have ended; returns `false` at once if none ever would.
fn wait_for_jobs(jobs: &[Job], wait: &PoolWait<'_>, worker: &Worker, thread: &ThisThread) -> bool {
    let targets = jobs.iter().map(|job| Target::new(job.id, job.pool, job.share_of));
    let awaited = Awaited::Any(targets.collect());
    let Some(listed) = Waiting::begin(awaited, Some(wait.waker())) else { return false };
    listed.run_called(worker);
    let goes_on = if jobs.iter().all(|job| worker.is_of(job.pool)) {
        wait.sleep()
    } else {
        worker.wait_in_job(thread);
        true
    };
    listed.run_called(worker);
    goes_on
}
