//! Channels that differ from the usual one.

use crate::policy::{Delivery, Turns};
use crate::sender::Sender;

/// Creates a channel with other [turns](Turns) or another [delivery](Delivery) than the usual ones; it begins without receivers.
///
/// ```
/// use brigade_burst::{Builder, Turns};
///
/// let sender = Builder::new().turns(Turns::RoundRobin).build();
/// let mut receiver = sender.new_receiver();
/// let worker = std::thread::spawn(move || receiver.iter().sum::<u32>());
/// let mut work: Vec<u32> = vec![1, 2, 3];
/// while !work.is_empty() {
///     work = sender.burst(work).collect();
/// }
/// drop(sender);
/// assert_eq!(worker.join().unwrap(), 6);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "no channel exists before `build`"]
pub struct Builder {
    turns: Turns,
    delivery: Delivery,
}

impl Builder {
    /// Creates a builder for the channel that [`Sender::new`] creates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets which of several waiting receivers is handed a value. Default: [`Turns::AwakeFirst`].
    pub fn turns(mut self, turns: Turns) -> Self {
        self.turns = turns;
        self
    }

    /// Sets when a value that was handed over may be received. Default: [`Delivery::AtOnce`].
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Creates the channel; returns its sender, which [creates the receivers](Sender::new_receiver).
    #[must_use]
    pub fn build<T>(self) -> Sender<T> {
        Sender::with(self.turns, self.delivery)
    }
}
