//! A timer for hyper.

use core::pin::Pin;
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

use super::sleep::{Sleep as Ours, sleep, sleep_until};

/// A timer for hyper, with the feature `hyper`. Each sleep belongs to the pool that polls the connection.
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
impl Sleep for Ours {}

impl Timer for HyperTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(sleep(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(sleep_until(deadline))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Ours>() {
            Some(mut ours) => ours.set(sleep_until(deadline)),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}
