//! The wakers of a scope's futures.

use core::task::Waker;

/// Wakers by a key, which is reused when the future has ended: the list is as long as the most futures at a time.
#[derive(Default)]
pub(super) struct Wakers {
    list: Vec<Option<Waker>>,
    /// The unused keys.
    free: Vec<usize>,
}

impl Wakers {
    /// Sets the waker of a future, under a new key if it has none. Returns the key, and the former waker.
    pub(super) fn set(&mut self, key: Option<usize>, waker: Waker) -> (usize, Option<Waker>) {
        let key = if key.is_some() { key } else { self.free.pop() };
        let Some(key) = key else {
            self.list.push(Some(waker));
            return (self.list.len() - 1, None);
        };
        (key, self.list[key].replace(waker))
    }

    /// Removes a future.
    pub(super) fn remove(&mut self, key: usize) -> Option<Waker> {
        self.free.push(key);
        self.list[key].take()
    }

    /// Takes all wakers; the futures keep their keys.
    pub(super) fn take_all(&mut self) -> Vec<Waker> {
        let mut taken = Vec::new();
        for waker in &mut self.list {
            if let Some(waker) = waker.take() {
                taken.push(waker);
            }
        }
        taken
    }
}
