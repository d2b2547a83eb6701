//! brigade's own channel: as many values as find a waiting receiver, and one call for all of them.

use brigade_burst::{Receiver, Sender};

use super::{Channel, Receive};
use crate::inbox::Value;

/// brigade-burst's sender.
pub(crate) struct BrigadeBurst(Sender<Value>);

impl Channel for BrigadeBurst {
    type Receiver = Receiver<Value>;

    fn new() -> Self {
        // The receiver that comes with it makes way for those that are asked for.
        BrigadeBurst(brigade_burst::channel().0)
    }

    fn receiver(&mut self) -> Receiver<Value> {
        self.0.new_receiver()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        back.extend(self.0.burst(values));
    }
}

impl Receive for Receiver<Value> {
    #[inline]
    fn receive(&mut self) -> Option<Value> {
        self.recv().ok()
    }
}
