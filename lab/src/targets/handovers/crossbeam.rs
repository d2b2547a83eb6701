//! crossbeam-channel: unbounded, the usual choice, where values that no thread takes now stay
//! queued; and without capacity, where `try_send` rejects a value if no thread waits, as burst-pool
//! does, with a wake-up for each value.

use crossbeam_channel::{Receiver, Sender};

use crate::inbox::Value;
use crate::target::handover::{Channel, Receive, Receivers, Start};
use crate::target::{Entry, Listing};

/// All values are queued.
pub(crate) const UNBOUNDED: Listing<Start<Receivers<Crossbeam>>> = Listing {
    entry: Entry::peer("crossbeam-channel", "crossbeam-channel: unbounded"),
    start: |receivers, inbox| {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Receivers::start(Crossbeam { sender, receiver }, receivers, inbox)
    },
};

/// A value is received at once or returned.
pub(crate) const ZERO: Listing<Start<Receivers<Crossbeam>>> = Listing {
    entry: Entry::peer("crossbeam-channel-0", "crossbeam-channel: bounded(0), try_send").further(),
    start: |receivers, inbox| {
        let (sender, receiver) = crossbeam_channel::bounded(0);
        Receivers::start(Crossbeam { sender, receiver }, receivers, inbox)
    },
};

/// crossbeam's sender, and a receiver to clone.
pub(crate) struct Crossbeam {
    /// The sender.
    sender: Sender<Value>,
    /// Receives nothing itself.
    receiver: Receiver<Value>,
}

impl Channel for Crossbeam {
    type Receiver = Receiver<Value>;

    fn receiver(&mut self) -> Receiver<Value> {
        self.receiver.clone()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // In the unbounded channel this never fails and does what `send` does.
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
