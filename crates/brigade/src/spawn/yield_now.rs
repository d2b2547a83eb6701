//! Yielding to other jobs.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use brigade_sync::awaited::{Awaited, note};

/// Yields to the pool: all other queued jobs run first.
///
/// In a [draining](crate::Shutdown::Drain) pool, a future that yields when no closure is left is dropped.
///
/// A poll is never interrupted. So a future that computes for long between two waits should call this from time to
/// time. Until it does, jobs wait unless another thread is idle.
///
/// ```
/// use std::sync::mpsc;
/// let pool = brigade::Pool::new(1);
/// let (first, seen) = mpsc::channel();
/// let other = first.clone();
/// let job = pool.spawn(async move {
///     brigade::spawn(async move { other.send("other") });
///     brigade::yield_now().await;
///     first.send("first")
/// });
/// job.join()??;
/// assert!(seen.iter().eq(["other", "first"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { has_yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "it yields when it is awaited"]
pub struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if core::mem::replace(&mut self.has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        note(|| Awaited::Turn);
        Poll::Pending
    }
}
