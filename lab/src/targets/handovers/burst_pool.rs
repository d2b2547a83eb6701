//! burst-pool, used as its own benchmark uses it: a box per value, as many as find a waiting
//! receiver, then one call that wakes them. The box is part of what sending costs.
//!
//! A receiver of burst-pool 0.5.1 that is awake on account of another's wake-up panics if the sender
//! has chosen it and not yet given it the value. It is awake only as long as a receiver has not received
//! what was sent before. So a burst must begin when all of the one before has been received, as `burst`
//! does: then the eventfd is at 0, since each value raises it by one and each receipt lowers it by one,
//! and every receiver sleeps until `wake_all`, which comes after the last value. A thread that panics
//! all the same (a signal does it too) receives nothing any more; its value is missing, and the run has no
//! number. The eventfd is never closed: a run costs one file descriptor for good.

use burst_pool::{Receiver, Sender};

use crate::inbox::Value;
use crate::target::handover::{Channel, Receive, Receivers, Start};
use crate::target::{Entry, Listing};

/// The channel.
pub(crate) const CHANNEL: Listing<Start<Receivers<BurstPool>>> = Listing {
    entry: Entry::peer("burst-pool", "burst-pool: enqueue, wake_all"),
    start: |receivers, inbox| Receivers::start(BurstPool(Sender::new()), receivers, inbox),
};

/// burst-pool's sender.
pub(crate) struct BurstPool(Sender<Value>);

impl Channel for BurstPool {
    type Receiver = Receiver<Value>;

    fn receiver(&mut self) -> Receiver<Value> {
        self.0.mk_receiver()
    }

    #[inline]
    fn burst(&mut self, mut values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // When one comes back no receiver waits any more, and there is no use in trying another.
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
