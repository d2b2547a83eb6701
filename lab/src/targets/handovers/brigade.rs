//! brigade: its channel, which hands over as many values as receivers wait and wakes them with one call; and
//! its pool, with as many jobs as threads are idle.

use std::io;

use brigade::{Pool, Shutdown};
use brigade_burst::Sender;

use crate::inbox::{Inbox, Value};
use crate::target::handover::{Channel, Handover, Receivers};

/// Starts threads that receive from the channel.
pub(super) fn burst(
    receivers: usize,
    inbox: &'static Inbox,
) -> io::Result<Receivers<BrigadeBurst>> {
    Receivers::start(BrigadeBurst(Sender::new()), receivers, inbox)
}

/// Starts the pool.
pub(super) fn pool(receivers: usize, inbox: &'static Inbox) -> io::Result<BrigadePool> {
    let pool = Pool::builder().threads(receivers).prestart(receivers).build()?;
    Ok(BrigadePool { pool, inbox })
}

/// brigade-burst's sender.
pub(crate) struct BrigadeBurst(Sender<Value>);

impl Channel for BrigadeBurst {
    fn receiver(&mut self) -> impl FnMut() -> Option<Value> + Send + 'static {
        let mut receiver = self.0.new_receiver();
        move || receiver.recv().ok()
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
    /// Its jobs pass the values to this.
    inbox: &'static Inbox,
}

impl Handover for BrigadePool {
    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        let (inbox, values) = (self.inbox, values.collect::<Vec<_>>());
        let jobs = values.iter().map(|&value| move || inbox.receive(value));
        // The rejected jobs are returned in order, so they are those of the last values; a value can't be
        // taken out of a job.
        let refused = self.pool.job().dispatch(jobs).count();
        back.extend(&values[values.len() - refused..]);
    }

    fn shutdown(self) {
        self.pool.shutdown(Shutdown::Drain);
    }
}
