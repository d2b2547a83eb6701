//! brigade: its channel, as many values as find a waiting receiver and one call for all of them; and its pool,
//! as many jobs as find an idle thread.

use brigade::{Pool, Shutdown};
use brigade_burst::{Receiver, Sender};

use crate::inbox::{Inbox, Value};
use crate::target::handover::{Channel, Handover, Receive, Receivers, Start};
use crate::target::{Entry, Listing};

/// The channel. The receiver that comes with it makes way for those that are asked for.
pub(crate) const BURST: Listing<Start<Receivers<BrigadeBurst>>> = Listing {
    entry: Entry::own("brigade-burst", "brigade-burst: Sender::burst"),
    start: |n, inbox| Receivers::start(BrigadeBurst(brigade_burst::channel().0), n, inbox),
};

/// The pool.
pub(crate) const POOL: Listing<Start<BrigadePool>> = Listing {
    entry: Entry::own("brigade-pool", "the default pool: dispatch"),
    start: |receivers, inbox| {
        let pool = Pool::builder().threads(receivers).prestart().build()?;
        Ok(BrigadePool { pool, inbox })
    },
};

/// brigade-burst's sender.
pub(crate) struct BrigadeBurst(Sender<Value>);

impl Channel for BrigadeBurst {
    type Receiver = Receiver<Value>;

    fn receiver(&mut self) -> Receiver<Value> {
        self.0.new_receiver()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        back.extend(self.0.burst(values));
    }
}

/// A brigade pool whose idle threads are the receivers.
pub(crate) struct BrigadePool {
    /// The pool.
    pool: Pool,
    /// Where its jobs bring the values.
    inbox: &'static Inbox,
}

impl Handover for BrigadePool {
    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        let (inbox, values) = (self.inbox, values.collect::<Vec<_>>());
        let jobs = values.iter().map(|&value| move || inbox.receive(value));
        // Jobs come back, in order, and a value can't be had from one: they are those of the last values.
        let refused = self.pool.job().dispatch(jobs).count();
        back.extend(&values[values.len() - refused..]);
    }

    fn shutdown(self) {
        self.pool.shutdown(Shutdown::Drain);
    }
}

impl Receive for Receiver<Value> {
    #[inline]
    fn receive(&mut self) -> Option<Value> {
        self.recv().ok()
    }
}
