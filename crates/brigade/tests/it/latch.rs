//! Futures that wait for the test and say where they are, and captures that count or panic as they are dropped.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// Closed at first; opened once and for all. A future waits at it without a thread.
#[derive(Clone, Default)]
pub(crate) struct Latch(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Latch {
    /// Lets all futures go on.
    pub(crate) fn open(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Wakes all that wait, for nothing; the wakers are kept, but not one more of each future for each poll: rings would
    /// get longer as fast as it is polled meanwhile, without end.
    pub(crate) fn ring(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.1.dedup_by(|one, other| one.will_wake(other));
            state.1.clone()
        };
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// How many polls have ended waiting here.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }

    /// Takes what would wake those that wait.
    pub(crate) fn take_wakers(&self) -> Vec<Waker> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }

    /// Ready when it is open.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + use<> {
        let latch = self.clone();
        poll_fn(move |context| {
            // Cloned outside of the lock: it may be anybody's.
            let waker = context.waker().clone();
            let mut state = latch.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(waker);
            Poll::Pending
        })
    }
}

/// Counts how many of its tokens have been dropped.
#[derive(Clone, Default)]
pub(crate) struct Drops(Arc<AtomicUsize>);

/// Counted when it is dropped.
pub(crate) struct Token(Arc<AtomicUsize>);

impl Drops {
    pub(crate) fn token(&self) -> Token {
        Token(self.0.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Captures that panic when they are dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("expected: dropped");
    }
}
