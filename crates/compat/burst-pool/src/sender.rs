//! The sending end.

use std::fmt;

use brigade_burst::{Busy, Delivery, Turns};

use crate::receiver::Receiver;

/// Hands values to ready receivers, or returns them.
///
/// Dropping it delivers enqueued values, also without [`wake_all`](Self::wake_all); then every receiver returns
/// [`RecvError::Orphaned`](crate::RecvError::Orphaned).
pub struct Sender<T>(brigade_burst::Sender<Box<T>>);

impl<T> Default for Sender<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Sender<T> {
    /// Creates a channel without receivers.
    ///
    /// ```
    /// let mut sender = burst_pool::Sender::new();
    /// assert_eq!(sender.enqueue(Box::new(7)), Some(Box::new(7)), "there is no receiver");
    /// ```
    #[must_use]
    pub fn new() -> Self {
        // The receivers take turns, and none has a value before `wake_all`.
        Self(brigade_burst::Sender::with(Turns::RoundRobin, Delivery::OnWake))
    }

    /// Creates another receiver.
    ///
    /// ```
    /// let mut sender = burst_pool::Sender::<u32>::new();
    /// let receivers = [sender.mk_receiver(), sender.mk_receiver()];
    /// # drop(receivers);
    /// ```
    pub fn mk_receiver(&mut self) -> Receiver<T> {
        Receiver::new(self.0.new_receiver())
    }

    /// Wakes the receivers for which values have been enqueued; no other receiver wakes.
    ///
    /// Never blocks. Makes a system call for each 32 receivers if a receiver with a value is asleep among them, and none otherwise.
    ///
    /// ```
    /// burst_pool::Sender::<u32>::new().wake_all(); // Without a receiver it does nothing.
    /// ```
    #[inline]
    pub fn wake_all(&mut self) {
        self.0.wake();
    }
}

impl<T: Send> Sender<T> {
    /// Enqueues a value for a receiver that is ready, the next in turn, or returns it if none is.
    ///
    /// A receiver is ready during [`recv`](Receiver::recv), until a value has been enqueued for it. It returns with the value
    /// after the next [`wake_all`](Self::wake_all). Never blocks and makes no system call.
    ///
    /// ```
    /// let mut sender = burst_pool::Sender::new();
    /// let mut receiver = sender.mk_receiver();
    /// assert_eq!(sender.enqueue(Box::new(7)), Some(Box::new(7)), "it is not ready yet");
    /// let worker = std::thread::spawn(move || receiver.recv());
    /// while sender.enqueue(Box::new(8)).is_some() {}
    /// sender.wake_all();
    /// assert_eq!(worker.join().unwrap(), Ok(Box::new(8)));
    /// ```
    #[inline]
    pub fn enqueue(&mut self, x: Box<T>) -> Option<Box<T>> {
        self.0.dispatch(x).err().map(Busy::into_inner)
    }

    /// Does the same as [`enqueue`](Self::enqueue): the name in earlier versions of burst-pool.
    #[inline]
    pub fn send(&mut self, x: Box<T>) -> Option<Box<T>> {
        self.enqueue(x)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("ready", &self.0.waiting()).finish_non_exhaustive()
    }
}
