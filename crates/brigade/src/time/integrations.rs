//! Implementations of other crates' traits for time.

#[cfg(feature = "futures")]
mod futures {
    use core::pin::Pin;
    use core::task::{Context, Poll};
    use std::time::Instant;

    use futures_core::Stream;

    use crate::time::Interval;

    /// With the feature `futures`: a stream of the times at which its ticks were due.
    impl Stream for Interval {
        type Item = Instant;

        fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Instant>> {
            self.poll_tick(context).map(Some)
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX, None)
        }
    }
}

#[cfg(feature = "hyper")]
mod hyper {
    use core::pin::Pin;
    use core::time::Duration;
    use std::time::Instant;

    use hyper::rt::{Sleep, Timer};

    use crate::time;

    /// A timer for hyper, with the feature `hyper`. Its sleeps belong to the pool that polls the connection.
    ///
    /// ```
    /// use hyper::rt::Timer as _;
    /// use std::time::{Duration, Instant};
    /// let begun = Instant::now();
    /// brigade::block_on(brigade::time::HyperTimer.sleep(Duration::from_millis(2)));
    /// assert!(begun.elapsed() >= Duration::from_millis(2));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HyperTimer;

    /// With the feature `hyper`.
    impl Sleep for time::Sleep {}

    impl Timer for HyperTimer {
        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
            Box::pin(time::sleep(duration))
        }

        fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
            Box::pin(time::sleep_until(deadline))
        }

        fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
            match sleep.as_mut().downcast_mut_pin::<time::Sleep>() {
                Some(mut ours) => ours.set(time::sleep_until(deadline)),
                None => *sleep = self.sleep_until(deadline),
            }
        }
    }
}

#[cfg(feature = "hyper")]
pub use hyper::HyperTimer;
