//! Waiting for a future on a thread.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use brigade_task::JobId;

use crate::awaited::Polled;
use crate::deadlock::{Awaited, Waiting};
use crate::engine::{BlockedThread, CURRENT, PoolWait, ThisThread, Worker};
#[cfg(feature = "io")]
use crate::io::enter_default;
use crate::key::Key;

/// Polls a future on this thread until it is ready, and sleeps while it waits.
///
/// May be called anywhere, also inside itself. On a worker of a pool the thread is [blocked](crate::blocking) while it
/// sleeps: the pool may have another in its place. The future need not be `Send`, and is kept on this thread's stack.
///
/// On a worker, a future that waits only for handles of jobs of the pool does not wait for ever. If none of these jobs could
/// ever end, one of the handles is ready with [`WouldDeadlock`](crate::JoinError::WouldDeadlock), as from
/// [`join`](crate::JoinHandle::join). A future that also waits for anything else may wait for ever. It may do so for a
/// [local](crate::spawn_local) future of that worker. Once all threads that the pool may have, [spare
/// ones](crate::Builder::spare_threads) included, are blocked, it may for any other job of the pool.
///
/// # Panics
/// If the future does.
///
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
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
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
    let polled = Polled::new(Waker::from((*thread).clone()));
    let mut poll = |polled: &Polled| {
        polled.poll(|waker| future.as_mut().poll(&mut Context::from_waker(waker)))
    };
    loop {
        let jobs = match poll(&polled) {
            (Poll::Ready(output), _) => return output,
            (Poll::Pending, jobs) => jobs,
        };
        if jobs.is_empty() {
            worker.wait_in_job(thread);
            continue;
        }
        // Once more, with a waker that has no clones yet.
        let wait = worker.begin_wait(thread);
        let once = Polled::new(wait.waker());
        let jobs = match poll(&once) {
            (Poll::Ready(output), _) => return output,
            (Poll::Pending, jobs) => jobs,
        };
        // The one in `once`, and one for each handle.
        if wait.wakers() > 1 + jobs.len() {
            worker.wait_in_job(thread);
        } else if !wait_for_jobs(&jobs, &wait, worker, thread) {
            polled.refuse(jobs[0].0);
        }
    }
}

/// Sleeps until one of these jobs has ended, or may have; `false` if none ever would.
fn wait_for_jobs(
    jobs: &[(JobId, Key)],
    wait: &PoolWait<'_>,
    worker: &Worker,
    thread: &ThisThread,
) -> bool {
    let Some(_listed) = Waiting::begin(Awaited::Any(jobs.iter().map(|&(job, _)| job).collect()))
    else {
        return false;
    };
    if jobs.iter().all(|&(_, pool)| worker.is_of(pool)) {
        return wait.sleep();
    }
    worker.wait_in_job(thread);
    true
}
