//! burst-pool on brigade: the package of `crates/compat`, as [`burst_pool`](super::burst_pool) beside it.

use brigade_burst_pool::{Receiver, Sender};

use crate::inbox::Value;
use crate::target::handover::{Channel, Receive, Receivers, Start};
use crate::target::{Entry, Listing};

/// The channel.
pub(crate) const CHANNEL: Listing<Start<Receivers<Compat>>> = Listing {
    entry: Entry::own("brigade-burst-pool", "burst-pool's interface on brigade").further(),
    start: |receivers, inbox| Receivers::start(Compat(Sender::new()), receivers, inbox),
};

/// The sender of burst-pool on brigade.
pub(crate) struct Compat(Sender<Value>);

impl Channel for Compat {
    type Receiver = Receiver<Value>;

    fn receiver(&mut self) -> Receiver<Value> {
        self.0.mk_receiver()
    }

    #[inline]
    fn burst(&mut self, mut values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // If one is returned no receiver waits any more, and trying another is useless.
        let refused = values.find_map(|value| self.0.enqueue(Box::new(value)));
        self.0.wake_all();
        back.extend(refused.into_iter().map(|value| *value).chain(values));
    }
}

impl Receive for Receiver<Value> {
    #[inline]
    fn receive(&mut self) -> Option<Value> {
        self.recv().ok().map(|value| *value)
    }
}
