//! The parker of a thread that may also sleep elsewhere: on the driver, or as a parked worker.

use brigade_sync::Parker;
use brigade_sync::atomic::{AtomicBool, Ordering, fence};

/// A parker, and whether the thread sleeps elsewhere instead.
pub(in crate::engine) struct ParkSpot {
    pub(in crate::engine) parker: Parker,
    /// Whether the thread sleeps, or is about to sleep, elsewhere.
    elsewhere: AtomicBool,
}

/// There was a token, which has been taken.
pub(in crate::engine) struct Token;

impl ParkSpot {
    pub(in crate::engine) fn new() -> Self {
        Self { parker: Parker::new(), elsewhere: AtomicBool::new(false) }
    }

    /// Sets the token, and calls `notify` if the thread sleeps elsewhere.
    pub(in crate::engine) fn unpark(&self, notify: impl FnOnce()) {
        self.parker.unpark();
        // Ordering: token, fence, look at `elsewhere`; `sleep_elsewhere` sets `elsewhere`, fences, and looks for a
        // token.
        fence(Ordering::SeqCst);
        if self.elsewhere.load(Ordering::Relaxed) {
            notify();
        }
    }

    /// Calls `sleep`, which sleeps elsewhere, unless there is a token, which is then taken. Only the thread itself
    /// calls this.
    pub(in crate::engine) fn sleep_elsewhere<R>(
        &self,
        sleep: impl FnOnce() -> R,
    ) -> Result<R, Token> {
        self.elsewhere.store(true, Ordering::Relaxed);
        // Ordering: see `unpark`.
        fence(Ordering::SeqCst);
        let slept = if self.parker.try_take() { Err(Token) } else { Ok(sleep()) };
        self.elsewhere.store(false, Ordering::Relaxed);
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
    /// Caught: no fence in `unpark`; none in `sleep_elsewhere`.
    #[test]
    fn a_token_wakes_a_thread_wherever_it_sleeps() {
        check(3, || {
            let (spot, driver) = (Arc::new(ParkSpot::new()), Arc::new(Parker::new()));
            let thread = {
                let (spot, driver) = (spot.clone(), driver.clone());
                thread::spawn(move || {
                    turn();
                    let slept = spot.sleep_elsewhere(|| driver.park(None));
                    assert!(slept.is_err() || spot.parker.try_take(), "it was woken for a token");
                })
            };
            turn();
            spot.unpark(|| _ = driver.unpark());
            thread.join().unwrap();
        });
    }
}
