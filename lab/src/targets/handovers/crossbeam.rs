//! crossbeam-channel: unbounded, as somebody takes it who has no special channel in mind, where values
//! that nobody takes now stay queued; and without any room, which makes `try_send` now or never, as
//! burst-pool is, with a wake-up for each value.

use crossbeam_channel::{Receiver, Sender};

use super::{Channel, Receive};
use crate::inbox::Value;

/// crossbeam's sender, and a receiver to clone; with room for values that wait or without.
pub(crate) struct Crossbeam<const ROOM: bool> {
    /// The sender.
    sender: Sender<Value>,
    /// Receives nothing itself.
    receiver: Receiver<Value>,
}

/// All values are queued.
pub(crate) type CrossbeamUnbounded = Crossbeam<true>;
/// A value is received at once or comes back.
pub(crate) type CrossbeamZero = Crossbeam<false>;

impl<const ROOM: bool> Channel for Crossbeam<ROOM> {
    type Receiver = Receiver<Value>;

    fn new() -> Self {
        let (sender, receiver) = match ROOM {
            true => crossbeam_channel::unbounded(),
            false => crossbeam_channel::bounded(0),
        };
        Crossbeam { sender, receiver }
    }

    fn receiver(&mut self) -> Receiver<Value> {
        self.receiver.clone()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // Where there is room for all, this never fails and is what `send` does.
        let refused = values.filter_map(|value| self.sender.try_send(value).err());
        back.extend(refused.map(|error| error.into_inner()));
    }
}

impl Receive for Receiver<Value> {
    #[inline]
    fn receive(&mut self) -> Option<Value> {
        self.recv().ok()
    }
}
