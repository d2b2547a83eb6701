//! spmc, the channel that burst-pool compares itself with: values that no thread takes now stay queued.

use spmc::{Receiver, Sender};

use crate::inbox::Value;
use crate::target::handover::{Channel, Receive, Receivers, Start};
use crate::target::{Entry, Listing};

/// The channel.
pub(crate) const CHANNEL: Listing<Start<Receivers<Spmc>>> = Listing {
    entry: Entry::peer("spmc", "spmc: unbounded"),
    start: |receivers, inbox| {
        let (sender, receiver) = spmc::channel();
        Receivers::start(Spmc { sender, receiver }, receivers, inbox)
    },
};

/// spmc's sender, and a receiver to clone.
pub(crate) struct Spmc {
    /// The sender.
    sender: Sender<Value>,
    /// Receives nothing itself.
    receiver: Receiver<Value>,
}

impl Channel for Spmc {
    type Receiver = Receiver<Value>;

    fn receiver(&mut self) -> Receiver<Value> {
        self.receiver.clone()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // Fails only without receivers, and this holds one.
        back.extend(values.filter_map(|value| self.sender.send(value).err()).map(|error| error.0));
    }
}

impl Receive for Receiver<Value> {
    #[inline]
    fn receive(&mut self) -> Option<Value> {
        self.recv().ok()
    }
}
