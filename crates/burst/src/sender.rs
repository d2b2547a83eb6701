//! The sending end.

use core::iter::{Chain, Fuse};
use core::option;
use std::sync::Arc;

use crate::error::Busy;
use crate::policy::{Delivery, Turns};
use crate::receiver::Receiver;
use crate::shared::Shared;

/// The values that [`dispatch_all`](Sender::dispatch_all) and [`burst`](Sender::burst) could not hand over: the rejected
/// value, then the rest of the iterator.
///
/// The rest is lazy: the iterator is advanced only by this iterator.
///
/// ```
/// let (sender, mut receiver) = brigade_burst::channel();
/// assert!(receiver.try_recv().is_err());
/// let mut leftover = sender.burst(1..);
/// assert_eq!(leftover.next(), Some(2));
/// assert_eq!(leftover.next(), Some(3), "from an iterator without an end");
/// ```
pub type Leftover<I> = Chain<option::IntoIter<<I as Iterator>::Item>, Fuse<I>>;

/// Hands values to waiting receivers, or returns them.
///
/// A channel has a single sender; several threads may share it by reference. Dropping it delivers the handed-over
/// values, then disconnects the receivers.
///
/// A handed-over value stays in the receiver's slot until [`wake`](Self::wake). An awake receiver may take it before, unless the
/// channel has another [delivery](Delivery). If threads share a sender, a wake also wakes the receivers of other threads' values.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Default for Sender<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Sender<T> {
    /// Creates a channel without receivers; [`new_receiver`](Self::new_receiver) creates them, now or later.
    ///
    /// Until a receiver waits, values are returned and a wake does nothing. [`channel`](crate::channel) creates the first
    /// receiver as well.
    ///
    /// ```
    /// use brigade_burst::{Busy, Sender};
    ///
    /// let sender = Sender::new();
    /// assert_eq!(sender.dispatch(1), Err(Busy(1)), "there is no receiver");
    /// let mut receiver = sender.new_receiver();
    /// let worker = std::thread::spawn(move || receiver.recv());
    /// while sender.dispatch(2).is_err() {
    ///     std::thread::yield_now(); // It does not wait yet.
    /// }
    /// sender.wake();
    /// assert_eq!(worker.join().unwrap(), Ok(2));
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::with(Turns::default(), Delivery::default())
    }

    /// Creates a channel without receivers, with other [turns](Turns) or another [delivery](Delivery) than usual.
    ///
    /// ```
    /// use brigade_burst::{Delivery, Sender, Turns};
    ///
    /// let sender = Sender::with(Turns::RoundRobin, Delivery::AtOnce);
    /// let mut receiver = sender.new_receiver();
    /// let worker = std::thread::spawn(move || receiver.iter().sum::<u32>());
    /// let mut work: Vec<u32> = vec![1, 2, 3];
    /// while !work.is_empty() {
    ///     work = sender.burst(work).collect();
    /// }
    /// drop(sender);
    /// assert_eq!(worker.join().unwrap(), 6);
    /// ```
    #[must_use]
    pub fn with(turns: Turns, delivery: Delivery) -> Self {
        Self { shared: Arc::new(Shared::new(turns, delivery)) }
    }

    /// Creates another receiver, which reuses the seat of a dropped receiver if there is any.
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

    /// Hands a value to a waiting receiver, without waking it.
    ///
    /// Prefers an awake receiver, which has just begun to wait or calls [`try_recv`](Receiver::try_recv), to a sleeping receiver,
    /// unless receivers are served [in turns](Turns). Never blocks and makes no system call.
    ///
    /// # Errors
    /// [`Busy`] with the value, if no receiver waits.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// assert!(sender.dispatch(1).is_err(), "no receiver waits");
    /// let _nothing_yet = receiver.try_recv();
    /// assert!(sender.dispatch(2).is_ok());
    /// assert_eq!(sender.dispatch(3).unwrap_err().into_inner(), 3);
    /// assert_eq!(receiver.try_recv(), Ok(2));
    /// ```
    #[inline]
    pub fn dispatch(&self, value: T) -> Result<(), Busy<T>> {
        match self.shared.dispatch(&mut self.shared.first(), value) {
            Ok(_) => Ok(()),
            Err(value) => Err(Busy(value)),
        }
    }

    /// Hands the values of an iterator to as many receivers as wait, without waking them.
    ///
    /// Returns the values it could not hand over: the rejected value and the rest of the iterator, which is not advanced. No
    /// seat is claimed while the iterator runs: it may panic, be slow, or use this sender itself.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let _nothing_yet = receiver.try_recv();
    /// let leftover = sender.dispatch_all(["a", "b", "c"]);
    /// assert!(leftover.eq(["b", "c"]));
    /// assert_eq!(receiver.try_recv(), Ok("a"));
    /// ```
    #[inline]
    #[must_use = "these values have no receiver"]
    pub fn dispatch_all<I: IntoIterator<Item = T>>(&self, values: I) -> Leftover<I::IntoIter> {
        let mut values = values.into_iter().fuse();
        let mut group = self.shared.first();
        let rejected = values.find_map(|value| self.shared.dispatch(&mut group, value).err());
        rejected.into_iter().chain(values)
    }

    /// Wakes the receivers of handed-over values; returns how many of them were asleep.
    ///
    /// Makes a system call for each group of 32 receivers in which such a receiver is asleep, and none for the others. Other
    /// receivers are not woken. The [README](https://docs.rs/crate/brigade-burst) explains why it is not a single call for all of
    /// them, and the cost of a call.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let _nothing_yet = receiver.try_recv();
    /// sender.dispatch(1)?;
    /// assert_eq!(sender.wake(), 0, "it is not asleep");
    /// # Ok::<(), brigade_burst::Busy<u32>>(())
    /// ```
    #[inline]
    pub fn wake(&self) -> usize {
        self.shared.groups().map(|group| group.wake() as usize).sum()
    }

    /// Hands the values of an iterator to as many receivers as wait, and wakes those.
    ///
    /// The same as [`dispatch_all`](Self::dispatch_all) and [`wake`](Self::wake). If the iterator panics, the values
    /// yielded before have been handed over, and their receivers are woken.
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
    #[must_use = "these values have no receiver"]
    pub fn burst<I: IntoIterator<Item = T>>(&self, values: I) -> Leftover<I::IntoIter> {
        let _wake = WakeOnDrop(self);
        self.dispatch_all(values)
    }

    /// Returns how many receivers wait. May be out of date on return if other threads use the channel.
    pub fn waiting(&self) -> usize {
        self.shared.groups().map(|group| group.waiting()).sum()
    }

    /// Takes back the unreceived values of receivers dropped, also by a panic, while no other receiver waited.
    ///
    /// Values that are not taken back when the sender is dropped go to the receivers before these are disconnected.
    ///
    /// ```
    /// let (sender, mut receiver) = brigade_burst::channel();
    /// let _nothing_yet = receiver.try_recv();
    /// sender.dispatch("precious")?;
    /// drop(receiver);
    /// assert_eq!(sender.take_back(), ["precious"]);
    /// # Ok::<(), brigade_burst::Busy<&str>>(())
    /// ```
    #[must_use = "these values are dropped otherwise"]
    pub fn take_back(&self) -> Vec<T> {
        self.shared.take_undelivered()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

brigade_sync::opaque!([T] Sender<T>: waiting);

/// Wakes when it is dropped, also by a panic.
struct WakeOnDrop<'a, T>(&'a Sender<T>);

impl<T> Drop for WakeOnDrop<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wake();
    }
}
