//! Waiting for a future on a thread.

use core::cell::Cell;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;

use crate::engine::{CURRENT, Seat};
#[cfg(feature = "io")]
use crate::io::enter_default;

/// A seat as a waker.
#[derive(Default)]
struct ThreadWaker(Arc<Seat>);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// This thread's waker, kept from one call to the next: a call allocates nothing.
    static KEPT: Cell<Option<Arc<ThreadWaker>>> = const { Cell::new(None) };
}

/// The thread's waker for one call; its drop puts it back.
struct Borrowed(Option<Arc<ThreadWaker>>);

impl Borrowed {
    /// Taken, so that a call inside this one makes its own.
    fn take() -> (Self, Arc<ThreadWaker>) {
        let thread = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default();
        (Self(Some(thread.clone())), thread)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // A token that comes too late wakes the next call for nothing, and it polls once more.
        let _ = KEPT.try_with(|kept| kept.set(self.0.take()));
    }
}

/// Polls a future on this thread until it is ready, and sleeps while it waits.
///
/// May be called anywhere, also inside itself. On a worker of a pool the thread is [blocked](crate::blocking) while it
/// sleeps: the pool may have another in its place. The future need not be `Send`, and lies on this thread's stack.
///
/// It waits for ever for what can't run meanwhile: on a worker for a [local](crate::spawn_local) future of that worker, and,
/// once all threads that the pool may have are blocked, [spare ones](crate::Builder::spare_threads) included, for any other
/// job of the pool.
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
    let mut future = pin!(future);
    let (_borrowed, thread) = Borrowed::take();
    let waker = Waker::from(thread.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        CURRENT.with(|worker| match worker {
            Some(worker) => worker.stand_by(&thread.0),
            None => thread.0.park(),
        });
    }
}
