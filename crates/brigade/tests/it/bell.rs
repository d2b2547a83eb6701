//! A waker to listen to, and futures run on the thread of the test.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Wakes one thread that sleeps on a condition variable of its own.
#[derive(Default)]
pub(crate) struct Bell {
    rings: Mutex<usize>,
    rung: Condvar,
}

impl Bell {
    /// How often it was rung.
    pub(crate) fn rings(&self) -> usize {
        *self.rings.lock().unwrap()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.rings.lock().unwrap() += 1;
        self.rung.notify_all();
    }
}

/// Polls a future to its end on this thread.
pub(crate) fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut heard = 0;
    loop {
        match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => {
                let rings = bell.rings.lock().unwrap();
                heard = *bell.rung.wait_while(rings, |rings| *rings == heard).unwrap();
            }
        }
    }
}
