//! A counting waker.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A counting waker, with a wait for its calls.
#[derive(Debug, Default)]
pub struct WakeCounter {
    wakes: Mutex<usize>,
    woken: Condvar,
}

impl WakeCounter {
    /// Counts the wakes so far.
    pub fn wakes(&self) -> usize {
        *self.wakes.lock().unwrap()
    }

    /// Blocks until there have been more than `seen` wakes, and counts them.
    pub fn wait(&self, seen: usize) -> usize {
        let wakes = self.wakes.lock().unwrap();
        *self.woken.wait_while(wakes, |wakes| *wakes <= seen).unwrap()
    }
}

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        *self.wakes.lock().unwrap() += 1;
        self.woken.notify_all();
    }
}

/// Returns a waker that calls a closure.
pub fn on_wake(call: impl Fn() + Send + Sync + 'static) -> Waker {
    struct OnWake<F>(F);
    impl<F: Fn() + Send + Sync + 'static> Wake for OnWake<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }
    Waker::from(Arc::new(OnWake(call)))
}

/// Polls a future once, with this waker.
pub fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Arc<WakeCounter>) -> Poll<F::Output> {
    let waker = Waker::from(waker.clone());
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Polls a future on this thread until it is ready.
pub fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let counter = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&counter));
    let mut seen = 0;
    loop {
        match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => seen = counter.wait(seen),
        }
    }
}
