//! The end that hands values over.

use core::fmt;
use std::sync::Arc;

use crate::error::Busy;
use crate::leftover::Leftover;
use crate::receiver::Receiver;
use crate::shared::Shared;

/// Hands values to receivers that wait, or gives them back.
///
/// There is one; several threads may share it by reference. Dropping it delivers what was handed over, then disconnects
/// the receivers.
///
/// Values that were handed over lie with their receivers until [`wake`](Self::wake), although a receiver that happens
/// to be awake may take its own before. If threads share a sender, a wake of one rings for what others have handed
/// over, too.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::new(Shared::new()) }
    }

    /// Makes another receiver. It has the seat of one that was dropped, if there is any.
    ///
    /// ```
    /// let (sender, first) = brigade_burst::channel::<u32>();
    /// let second = sender.new_receiver();
    /// assert_eq!(sender.waiting(), 0, "neither has asked for anything");
    /// # drop((first, second));
    /// ```
    pub fn new_receiver(&self) -> Receiver<T> {
        Receiver::new(self.shared.clone())
    }

    /// Hands a value to a receiver that waits; wakes nobody.
    ///
    /// Rather to one that is awake, as it has asked a moment ago or is [spinning](Receiver::spin), than to one that
    /// sleeps. Never blocks and makes no system call.
    ///
    /// # Errors
    /// [`Busy`] with the value, if no receiver waits.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// assert!(sender.dispatch(1).is_err(), "nobody waits");
    /// let _nothing_yet = receiver.try_recv();
    /// assert!(sender.dispatch(2).is_ok());
    /// assert_eq!(sender.dispatch(3).unwrap_err().into_inner(), 3);
    /// assert_eq!(receiver.try_recv(), Ok(2));
    /// ```
    #[inline]
    pub fn dispatch(&self, value: T) -> Result<(), Busy<T>> {
        match self.shared.hand_over(&mut self.shared.first(), value) {
            Ok(_) => Ok(()),
            Err(value) => Err(Busy(value)),
        }
    }

    /// Hands the values of an iterator to as many receivers as wait; wakes nobody.
    ///
    /// Returns what could not be handed over: the value that was refused and the rest of the iterator, which is not
    /// touched. No seat is held while the iterator runs: it may panic, be slow, or use this sender itself.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let _nothing_yet = receiver.try_recv();
    /// let leftover = sender.dispatch_all(["a", "b", "c"]);
    /// assert!(leftover.eq(["b", "c"]));
    /// assert_eq!(receiver.try_recv(), Ok("a"));
    /// ```
    #[inline]
    pub fn dispatch_all<I: IntoIterator<Item = T>>(&self, values: I) -> Leftover<I::IntoIter> {
        let mut values = values.into_iter();
        let mut group = self.shared.first();
        while let Some(value) = values.next() {
            if let Err(refused) = self.shared.hand_over(&mut group, value) {
                return Leftover::new(Some(refused), Some(values));
            }
        }
        Leftover::new(None, None)
    }

    /// Wakes the receivers that have been handed something; returns how many of them slept.
    ///
    /// One system call for each 32 receivers of whom somebody sleeps, however many; none if nobody does. Nobody else is
    /// woken.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let _nothing_yet = receiver.try_recv();
    /// sender.dispatch(1)?;
    /// assert_eq!(sender.wake(), 0, "it does not sleep");
    /// # Ok::<(), brigade_burst::Busy<u32>>(())
    /// ```
    #[inline]
    pub fn wake(&self) -> usize {
        self.shared.groups().map(|group| group.ring() as usize).sum()
    }

    /// Hands over as much as there is somebody for, and wakes those.
    ///
    /// [`dispatch_all`](Self::dispatch_all) and [`wake`](Self::wake). If the iterator panics, what it had yielded by
    /// then is handed over, and those who have it are woken.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let worker = std::thread::spawn(move || receiver.iter().sum::<u32>());
    /// let mut work: Vec<u32> = vec![1, 2, 3];
    /// while !work.is_empty() {
    ///     work = sender.burst(work).collect();
    /// }
    /// drop(sender);
    /// assert_eq!(worker.join().unwrap(), 6);
    /// ```
    #[inline]
    pub fn burst<I: IntoIterator<Item = T>>(&self, values: I) -> Leftover<I::IntoIter> {
        let _wake = WakeAtTheEnd(self);
        self.dispatch_all(values)
    }

    /// How many receivers could be handed something. Old when it is there, if others are at it.
    pub fn waiting(&self) -> usize {
        self.shared.groups().map(|group| group.waiting()).sum()
    }

    /// Takes back what receivers left that were dropped, or whose threads panicked, with a value they had not
    /// received, while no other waited for it.
    ///
    /// What is still there when the sender is dropped goes to the receivers before they hear of that.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let _nothing_yet = receiver.try_recv();
    /// sender.dispatch("precious")?;
    /// drop(receiver);
    /// assert_eq!(sender.take_back(), ["precious"]);
    /// # Ok::<(), brigade_burst::Busy<&str>>(())
    /// ```
    #[must_use = "these values are nowhere else"]
    pub fn take_back(&self) -> Vec<T> {
        self.shared.take_back()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

/// Wakes when it is dropped, also by a panic.
struct WakeAtTheEnd<'a, T>(&'a Sender<T>);

impl<T> Drop for WakeAtTheEnd<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wake();
    }
}
