//! Futures that stay on one worker.

use core::any::Any;
use core::future::Future;

use brigade_task::{Home, Job, Ran, Spawned, TaskRef, drop_contained};

use crate::engine::{CURRENT, Worker};
use crate::join::JoinHandle;
use crate::registry;

/// The worker that runs a local future.
#[derive(Clone, Copy)]
struct Desk {
    key: u64,
    /// Its place in the pool. It has no other worker until all local futures of this one have ended.
    place: usize,
}

impl Desk {
    fn is_here(self, worker: &Worker) -> bool {
        worker.is_of(self.key) && worker.index() == self.place
    }
}

impl Home for Desk {
    fn wake(self, job: Job, _: bool) {
        match registry::find(self.key) {
            Some(core) => core.send_local(self.place, job),
            // In a forked child. Else the worker is there as long as the future is, and its pool with it.
            None => core::mem::forget(job),
        }
    }

    fn waits(self, task: TaskRef) -> u32 {
        CURRENT.with(|worker| match worker.filter(|worker| self.is_here(worker)) {
            Some(worker) => worker.local_waits(task),
            None => unreachable!("it is polled by its worker"),
        })
    }

    fn ended(self, number: u32, ran: Ran, unclaimed: Option<Box<dyn Any + Send>>) {
        CURRENT.with(|worker| match worker.filter(|worker| self.is_here(worker)) {
            Some(worker) => worker.local_ended(number, ran, unclaimed),
            None => match registry::find(self.key) {
                Some(core) => core.local_ended(self.place, number, ran, unclaimed),
                None => drop_contained(unclaimed),
            },
        });
    }
}

/// Accepts a future that need not be `Send`, on a worker of a pool: this thread alone polls and drops it. One allocation.
///
/// It may be woken and [cancelled](JoinHandle::cancel) from anywhere. Whatever blocks this thread holds it up: nobody else can
/// run it. A worker with such a future stays, also where the pool was made [smaller](crate::Pool::resize) or lets go of
/// threads that are idle. When the pool ends those that still wait are cancelled, on this thread. No capacity of the pool counts
/// them.
///
/// The handle may go elsewhere if what the future comes to may. On this very thread [`join`](JoinHandle::join) is
/// [`WouldDeadlock`](crate::JoinError::WouldDeadlock) as long as the future has not ended; `.await` it.
///
/// # Panics
/// If this thread is no worker; a job or a future of a pool is on one.
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// let pool = brigade::Pool::new(2);
/// let sum = pool.submit(|| {
///     let sum = Rc::new(Cell::new(0));
///     let mine = sum.clone();
///     brigade::spawn_local(async move {
///         for n in 1..=3 {
///             mine.set(mine.get() + n);
///             brigade::yield_now().await;
///         }
///         sum.get()
///     })
/// });
/// assert_eq!(sum.join()?.join()?, 6);
/// # Ok::<(), brigade::JoinError>(())
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    CURRENT.with(|worker| {
        let Some(worker) = worker else {
            panic!("a local future is spawned on the worker that is to run it");
        };
        let desk = Desk { key: worker.key(), place: worker.index() };
        let Spawned { job, handle } = Spawned::local(future, desk);
        worker.accept_local();
        worker.core().send_local(desk.place, job);
        JoinHandle::of_local(handle, desk.key, desk.place)
    })
}
