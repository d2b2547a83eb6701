//! A future with a time limit.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use super::sleep::{Sleep, sleep, sleep_until};

/// Limits a future to `duration`, measured from this call: returns the future's output, or [`Elapsed`] once the time
/// is over.
///
/// The future is polled first: if it is ready, its output is returned, late or not. A future whose poll never
/// returns is not limited: long computations must call [`yield_now`](crate::yield_now), whereas brigade's own
/// operations [yield by themselves](crate::time#operations-that-are-always-ready). When the time is over, the future
/// still exists; it is dropped with the [`Timeout`].
///
/// ```
/// use brigade::time::{Elapsed, timeout};
/// use std::time::Duration;
/// let pool = brigade::Pool::new(1);
/// let (quick, slow) = (async { 42 }, std::future::pending::<i32>());
/// let quick = pool.spawn(timeout(Duration::from_secs(60), quick));
/// let slow = pool.spawn(timeout(Duration::from_millis(1), slow));
/// assert_eq!(quick.join()?, Ok(42));
/// assert_eq!(slow.join()?, Err(Elapsed));
/// # Ok::<(), brigade::JoinError>(())
/// ```
// Inlined, so that an optimized build makes a large future in its place.
#[inline(always)]
pub fn timeout<F: Future>(duration: Duration, future: F) -> Timeout<F> {
    Timeout { future, sleep: sleep(duration) }
}

/// Like [`timeout`], but limits the future to a point in time.
///
/// ```
/// use brigade::time::{Elapsed, timeout_at};
/// use std::time::Instant;
/// let late = timeout_at(Instant::now(), std::future::pending::<()>());
/// assert_eq!(brigade::block_on(late), Err(Elapsed));
/// ```
#[inline(always)]
pub fn timeout_at<F: Future>(deadline: Instant, future: F) -> Timeout<F> {
    Timeout { future, sleep: sleep_until(deadline) }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`]. It belongs to a pool like a [`Sleep`].
    ///
    /// # Panics
    /// If the future panics, and as for polling a [`Sleep`].
    #[derive(Debug)]
    #[must_use = "it is polled when it is awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(this.sleep).poll(context).map(|()| Err(Elapsed))
    }
}

/// The error of a [`timeout`] whose time was over before the future was ready.
///
/// `?` turns it into an [`io::Error`] of the kind [`TimedOut`](io::ErrorKind::TimedOut).
///
/// ```
/// use brigade::time::timeout;
/// use std::{future::pending, io, time::Duration};
/// let result = brigade::block_on(async {
///     timeout(Duration::from_millis(1), pending::<()>()).await?;
///     io::Result::Ok(())
/// });
/// assert_eq!(result.unwrap_err().kind(), io::ErrorKind::TimedOut);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation timed out")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, elapsed)
    }
}
