//! A gate for futures.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// Keeps futures pending until it is opened, once and for all.
#[derive(Clone, Debug, Default)]
pub struct Latch(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Latch {
    /// Lets all futures continue.
    pub fn open(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        for waker in wakers {
            waker.wake();
        }
    }

    /// Wakes all waiting futures although the latch is closed. The wakers are kept, one for each future: with one for each
    /// poll, a poll during the call would make it endless.
    pub fn wake_all(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.1.dedup_by(|one, other| one.will_wake(other));
            state.1.clone()
        };
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// Counts the pending polls here.
    pub fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }

    /// Takes the wakers of the waiting futures.
    pub fn take_wakers(&self) -> Vec<Waker> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }

    /// Returns a future that waits until the latch is open.
    pub fn wait(&self) -> impl Future<Output = ()> + Send + use<> {
        let latch = self.clone();
        poll_fn(move |context| {
            // Cloned outside of the lock: a waker's clone is another crate's code.
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
