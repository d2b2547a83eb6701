//! The end that waits for values.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::hint;

use crate::error::{Disconnected, RecvTimeoutError, TryRecvError};
use crate::group::Group;
use crate::shared::Shared;

/// Waits for values that a [`Sender`](crate::Sender) hands over.
///
/// It can be handed one value at a time, and only while it waits: inside [`recv`](Self::recv) or
/// [`recv_timeout`](Self::recv_timeout), or from a [`try_recv`](Self::try_recv) that found nothing until it has
/// something.
///
/// One that is dropped with a value that it has not received hands it to another receiver that waits, and wakes that
/// one. If there is none the sender can [take it back](crate::Sender::take_back).
pub struct Receiver<T> {
    /// Where it sits. Given up before the channel, whose drop takes the chain apart.
    group: Arc<Group<T>>,
    /// The channel.
    shared: Arc<Shared<T>>,
    /// Its seat in the group.
    seat: u32,
    /// Whether the seat has been offered, and nothing received or withdrawn since.
    offered: bool,
    /// How long `recv` looks for a value before it sleeps.
    spin: Duration,
}

impl<T> Receiver<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        let (group, seat) = shared.sit();
        Self { group, shared, seat, offered: false, spin: Duration::ZERO }
    }

    /// Looks out for so long in each [`recv`](Self::recv) before it sleeps. Zero, so not at all, if it is never said.
    ///
    /// A receiver that looks out has its value about as soon as it is handed over, without a wake and without a system
    /// call, and keeps a processor busy meanwhile. A thread that keeps a processor from the sender only makes things
    /// worse.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, receiver) = brigade_burst::channel::<u32>();
    /// let receiver = receiver.spin(Duration::from_micros(20));
    /// # drop((sender, receiver));
    /// ```
    #[must_use]
    pub fn spin(mut self, time: Duration) -> Self {
        self.spin = time;
        self
    }

    /// Waits for a value.
    ///
    /// # Errors
    /// [`Disconnected`], if the sender is gone and nothing of what it handed over is left for us.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel::<u32>();
    /// drop(sender);
    /// assert_eq!(receiver.recv(), Err(brigade_burst::Disconnected));
    /// ```
    pub fn recv(&mut self) -> Result<T, Disconnected> {
        match self.wait(None) {
            Ok(value) => Ok(value),
            // Without an end to it there is no timeout.
            Err(_) => Err(Disconnected),
        }
    }

    /// Waits for a value, for so long at most, and no less.
    ///
    /// # Errors
    /// [`Timeout`](RecvTimeoutError::Timeout), if nothing was handed over. The receiver does not wait any more then.
    /// [`Disconnected`](RecvTimeoutError::Disconnected), if the sender is gone and nothing is left for us.
    ///
    /// ```
    /// use std::time::Duration;
    /// let (sender, mut receiver) = brigade_burst::channel::<u32>();
    /// let timeout = receiver.recv_timeout(Duration::from_millis(1));
    /// assert_eq!(timeout, Err(brigade_burst::RecvTimeoutError::Timeout));
    /// assert!(sender.dispatch(1).is_err(), "it does not wait any more");
    /// ```
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        // A deadline too far to be written down is none.
        self.wait(Instant::now().checked_add(timeout))
    }

    /// Looks for a value, and leaves word that one is wanted.
    ///
    /// From now on one may be handed over: the next call of any kind has it. Who does not come back for a while should
    /// [`withdraw`](Self::withdraw), or a value lies here meanwhile.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty), if nothing has been handed over.
    /// [`Disconnected`](TryRecvError::Disconnected), if the sender is gone and nothing is left for us.
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
        if let Some(value) = self.pick_up() {
            return Ok(value);
        }
        if self.shared.is_closed() {
            return self.last().ok_or(TryRecvError::Disconnected);
        }
        Err(TryRecvError::Empty)
    }

    /// Wants nothing any more; returns a value that was handed over before.
    ///
    /// Only of use after a [`try_recv`](Self::try_recv) that found nothing.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// assert!(receiver.try_recv().is_err());
    /// assert_eq!(receiver.withdraw(), None);
    /// assert!(sender.dispatch(1).is_err());
    /// ```
    #[must_use = "a value that was handed over is nowhere else"]
    pub fn withdraw(&mut self) -> Option<T> {
        if !std::mem::take(&mut self.offered) {
            return None;
        }
        self.group.withdraw(self.seat)
    }

    /// Iterates over the values until the sender is gone; waits for each.
    pub fn iter(&mut self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Waits until there is a value, the sender is gone, or it is `end`.
    fn wait(&mut self, end: Option<Instant>) -> Result<T, RecvTimeoutError> {
        self.offer();
        self.look_out(end);
        loop {
            if let Some(value) = self.pick_up_if_claimed() {
                return Ok(value);
            }
            if self.shared.is_closed() {
                return self.last().ok_or(RecvTimeoutError::Disconnected);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if !self.group.parkers().park(self.seat, left) {
                return self.withdraw().ok_or(RecvTimeoutError::Timeout);
            }
        }
    }

    /// May be handed a value from now on.
    fn offer(&mut self) {
        if !std::mem::replace(&mut self.offered, true) {
            self.group.offer(self.seat);
        }
    }

    /// Takes the value that lies here.
    fn pick_up(&mut self) -> Option<T> {
        let value = self.group.pick_up(self.seat)?;
        self.offered = false;
        Some(value)
    }

    /// Takes the value that lies here or is just being put here.
    fn pick_up_if_claimed(&mut self) -> Option<T> {
        let value = self.group.pick_up_if_claimed(self.seat)?;
        self.offered = false;
        Some(value)
    }

    /// Looks for a value, as long as it is set to.
    fn look_out(&self, end: Option<Instant>) {
        /// Looks between two at the clock, which costs as much as several of them.
        const LOOKS: u32 = 32;
        if self.spin.is_zero() || cfg!(brigade_loom) {
            return;
        }
        let begun = Instant::now();
        let spin = end.map_or(self.spin, |end| self.spin.min(end.saturating_duration_since(begun)));
        while begun.elapsed() < spin {
            for _ in 0..LOOKS {
                if self.group.has_value(self.seat) {
                    return;
                }
                hint::spin_loop();
            }
            if self.shared.is_closed() {
                return;
            }
        }
    }

    /// What is left for us now that the sender is gone: ours if somebody has just given it to us, or what others left.
    fn last(&mut self) -> Option<T> {
        self.withdraw().or_else(|| self.shared.inherit())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let value = self.withdraw();
        self.group.stand_up(self.seat);
        if let Some(value) = value {
            self.shared.hand_on(value);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("seat", &self.seat).finish_non_exhaustive()
    }
}

/// Yields values until the sender is gone, and waits for each; see [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a mut Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a mut Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// Yields values until the sender is gone, and waits for each; has the receiver in it.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
