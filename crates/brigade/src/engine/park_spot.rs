//! What a thread sleeps on if it may also sleep on the driver.

use brigade_sync::Parker;
use brigade_sync::atomic::{AtomicBool, Ordering, fence};

/// A parker, and whether its thread sleeps on the driver instead.
pub(super) struct ParkSpot {
    pub(super) parker: Parker,
    /// Whether the thread sleeps, or is about to, on the driver.
    on_driver: AtomicBool,
}

/// There was a token, which has been taken.
pub(super) struct Token;

impl ParkSpot {
    pub(super) fn new() -> Self {
        Self { parker: Parker::new(), on_driver: AtomicBool::new(false) }
    }

    /// Sets the token, and calls `notify_driver` if the thread sleeps on the driver.
    pub(super) fn unpark(&self, notify_driver: impl FnOnce()) {
        self.parker.unpark();
        // Ordering: token, fence, look at `on_driver`, against set `on_driver`, fence, look for a token in `sleep_on_driver`.
        fence(Ordering::SeqCst);
        if self.on_driver.load(Ordering::Relaxed) {
            notify_driver();
        }
    }

    /// Calls `sleep`, which sleeps on the driver, unless there is a token, which is then taken. Only the thread itself calls
    /// this.
    pub(super) fn sleep_on_driver<R>(&self, sleep: impl FnOnce() -> R) -> Result<R, Token> {
        self.on_driver.store(true, Ordering::Relaxed);
        // Ordering: see `unpark`.
        fence(Ordering::SeqCst);
        let slept = if self.parker.try_take() { Err(Token) } else { Ok(sleep()) };
        self.on_driver.store(false, Ordering::Relaxed);
        slept
    }
}

#[cfg(all(test, brigade_loom))]
mod loom_tests {
    use std::sync::Arc;

    use brigade_sync::model::{check, turn};
    use loom::thread;

    use super::*;

    /// Compiles only if the facade really is loom's.
    const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

    /// A second parker stands for the driver.
    ///
    /// Caught: no fence in `unpark`; none in `sleep_on_driver`.
    #[test]
    fn a_token_wakes_a_thread_wherever_it_sleeps() {
        check(3, || {
            let (spot, driver) = (Arc::new(ParkSpot::new()), Arc::new(Parker::new()));
            let thread = {
                let (spot, driver) = (spot.clone(), driver.clone());
                thread::spawn(move || {
                    turn();
                    let slept = spot.sleep_on_driver(|| driver.park(None));
                    assert!(slept.is_err() || spot.parker.try_take(), "it was woken for a token");
                })
            };
            turn();
            spot.unpark(|| _ = driver.unpark());
            thread.join().unwrap();
        });
    }
}
