//! The receiving end.

use std::fmt;

use crate::error::RecvError;

/// Receives the values that a [`Sender`](crate::Sender) enqueues for it.
pub struct Receiver<T>(brigade_burst::Receiver<Box<T>>);

impl<T> Receiver<T> {
    pub(crate) fn new(receiver: brigade_burst::Receiver<Box<T>>) -> Self {
        Self(receiver)
    }

    /// Blocks until a value has been enqueued for this receiver and [`wake_all`](crate::Sender::wake_all) has been called, then
    /// returns the value.
    ///
    /// The receiver counts as ready for a value only during this call.
    ///
    /// # Errors
    /// [`RecvError::Orphaned`], if the sender has been dropped. A value enqueued before is returned first, whether
    /// or not `wake_all` was called.
    ///
    /// ```
    /// let mut sender = burst_pool::Sender::<u32>::new();
    /// let mut receiver = sender.mk_receiver();
    /// drop(sender);
    /// assert_eq!(receiver.recv(), Err(burst_pool::RecvError::Orphaned));
    /// ```
    pub fn recv(&mut self) -> Result<Box<T>, RecvError> {
        self.0.recv().map_err(|_| RecvError::Orphaned)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
