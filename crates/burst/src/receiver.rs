//! The receiving end.

use core::fmt;
use core::iter;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::time;

use crate::error::{Disconnected, RecvTimeoutError, TryRecvError};
use crate::group::Group;
use crate::policy::Delivery;
use crate::shared::Shared;
use crate::state::Withdrawal;

/// Waits for values from a [`Sender`](crate::Sender).
///
/// It can be handed a single value at a time, and only while it waits: inside [`recv`](Self::recv) or
/// [`recv_timeout`](Self::recv_timeout), or after a [`try_recv`](Self::try_recv) that found nothing, until it has a value.
///
/// A receiver that is dropped with an unreceived value hands it to another waiting receiver, and wakes the other. If
/// there is none, the sender can [take it back](crate::Sender::take_back).
pub struct Receiver<T> {
    /// The receiver's group. Dropped before the channel, whose drop frees the chain.
    group: Arc<Group<T>>,
    /// The channel.
    shared: Arc<Shared<T>>,
    /// The receiver's seat in the group.
    seat: u32,
    /// Whether the seat has been offered, and no value received or withdrawn since.
    offered: bool,
}

impl<T> Receiver<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        let (group, seat) = shared.take_seat();
        Self { group, shared, seat, offered: false }
    }

    /// Waits for a value.
    ///
    /// # Errors
    /// [`Disconnected`], if the sender has been dropped and no value is left for this receiver.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel::<u32>();
    /// drop(sender);
    /// assert_eq!(receiver.recv(), Err(brigade_burst::Disconnected));
    /// ```
    pub fn recv(&mut self) -> Result<T, Disconnected> {
        match self.wait(None) {
            Ok(value) => Ok(value),
            // Without a deadline there is no timeout.
            Err(_) => Err(Disconnected),
        }
    }

    /// Waits for a value for at most `timeout`; never gives up earlier.
    ///
    /// # Errors
    /// [`Timeout`](RecvTimeoutError::Timeout), if no value was handed over; the receiver does not wait any more then. With
    /// [`Delivery::OnWake`], also if a value was handed over and is not woken for: a later call returns it.
    /// [`Disconnected`](RecvTimeoutError::Disconnected), if the sender has been dropped and no value is left.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, mut receiver) = brigade_burst::channel::<u32>();
    /// let timeout = receiver.recv_timeout(Duration::from_millis(1));
    /// assert_eq!(timeout, Err(brigade_burst::RecvTimeoutError::Timeout));
    /// assert!(sender.dispatch(1).is_err(), "it does not wait any more");
    /// ```
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        // A time beyond the range of `Instant` counts as no deadline.
        self.wait(time::now().checked_add(timeout))
    }

    /// Returns a value, if any; otherwise begins to wait for a value, without blocking.
    ///
    /// From then on a value may be handed over, and the next call of any kind returns it. A thread that does not call again
    /// for a while should [`withdraw`](Self::withdraw), as a value would be delayed until it does.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty), if no value has been handed over.
    /// [`Disconnected`](TryRecvError::Disconnected), if the sender has been dropped and no value is left.
    ///
    /// ```
    /// use brigade_burst::TryRecvError;
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.dispatch(1)?;
    /// assert_eq!(receiver.try_recv(), Ok(1), "no wake needed: we are not asleep");
    /// # Ok::<(), brigade_burst::Busy<u32>>(())
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.offer();
        if let Some(value) = self.receive(Group::receive) {
            return Ok(value);
        }
        if self.shared.is_closed() {
            return self.last_value().ok_or(TryRecvError::Disconnected);
        }
        Err(TryRecvError::Empty)
    }

    /// Stops waiting; returns a value handed over before, whether or not it has been woken for.
    ///
    /// Only useful after a [`try_recv`](Self::try_recv) that found nothing.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// assert!(receiver.try_recv().is_err());
    /// assert_eq!(receiver.withdraw(), None);
    /// assert!(sender.dispatch(1).is_err());
    /// ```
    #[must_use = "a value that was handed over is dropped otherwise"]
    pub fn withdraw(&mut self) -> Option<T> {
        if !std::mem::take(&mut self.offered) {
            return None;
        }
        self.group.withdraw(self.seat)
    }

    /// Iterates over the values until the sender is dropped; waits for each.
    pub fn iter(&mut self) -> impl Iterator<Item = T> {
        iter::from_fn(|| self.recv().ok())
    }

    /// Waits until there is a value, the sender has been dropped, or the deadline has passed.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        self.offer();
        loop {
            if let Some(value) = self.receive(Group::receive_if_claimed) {
                return Ok(value);
            }
            if self.shared.is_closed() {
                return self.last_value().ok_or(RecvTimeoutError::Disconnected);
            }
            let left = deadline.map(time::until);
            if !self.group.parkers().park(self.seat, left) {
                return self.give_up().ok_or(RecvTimeoutError::Timeout);
            }
        }
    }

    /// Begins to wait: the seat may be handed a value from now on.
    fn offer(&mut self) {
        if !std::mem::replace(&mut self.offered, true) {
            self.group.offer(self.seat);
        }
    }

    /// Takes the handed-over value, if it may be received now: by `at_once` if no wake is needed.
    fn receive(&mut self, at_once: impl FnOnce(&Group<T>, u32) -> Option<T>) -> Option<T> {
        let value = match self.shared.delivery() {
            Delivery::AtOnce => at_once(&self.group, self.seat),
            Delivery::OnWake => self.group.receive_woken(self.seat),
        }?;
        self.offered = false;
        Some(value)
    }

    /// Stops waiting after a timeout; returns a value that may be received now.
    fn give_up(&mut self) -> Option<T> {
        match self.shared.delivery() {
            Delivery::AtOnce => self.withdraw(),
            Delivery::OnWake => match self.group.try_withdraw(self.seat) {
                Withdrawal::Done => {
                    self.offered = false;
                    None
                }
                // A value whose wake is pending stays, and so does the offer: the next call looks for it again.
                Withdrawal::TooLate => self.receive(Group::receive),
            },
        }
    }

    /// Returns a value after the sender was dropped: a value just handed over, or an undelivered value.
    fn last_value(&mut self) -> Option<T> {
        self.withdraw().or_else(|| self.shared.pop_undelivered())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let value = self.withdraw();
        self.group.release_seat(self.seat);
        if let Some(value) = value {
            self.shared.redispatch(value);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("seat", &self.seat).finish_non_exhaustive()
    }
}
