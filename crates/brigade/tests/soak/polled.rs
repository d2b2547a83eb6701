//! Futures on a thread that has nothing else to do.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::doing::Doing;

/// A waker that sends a message: a token of the thread's might be taken by what a poll runs.
struct Bell(Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // The future may have been ready without it.
        let _ = self.0.send(());
    }
}

/// Polls a future as often as it asks for that, until it is ready.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    match ready_soon(future, None) {
        Some(output) => output,
        None => unreachable!("it is polled without end"),
    }
}

/// Polls a future this many times, woken or not; without a number, whenever it is woken, until it is ready.
/// `None` if it was not, and is dropped.
pub(crate) fn ready_soon<F: Future>(future: F, polls: Option<u32>) -> Option<F::Output> {
    let (bell, wakes) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(bell)));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut polled = 0;
    while polls.is_none_or(|polls| polled < polls) {
        if let Poll::Ready(output) = Doing::Submitting.during(|| future.as_mut().poll(&mut context))
        {
            return Some(output);
        }
        polled += 1;
        match polls {
            None => wakes.recv().expect("the waker is here"),
            Some(_) => thread::yield_now(),
        }
    }
    None
}
