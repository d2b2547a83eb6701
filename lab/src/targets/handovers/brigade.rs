//! brigade: its channel, as many values as find a waiting receiver and one call for all of them; and its pool,
//! as many jobs as find an idle thread.

use std::io;

use brigade::{Pool, Shutdown};
use brigade_burst::{Receiver, Sender};

use super::{Channel, Handover, Receive};
use crate::inbox::{Inbox, Value};

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

/// A brigade pool whose idle threads are the receivers.
pub(crate) struct BrigadePool {
    /// The pool.
    pool: Pool,
    /// Where its jobs bring the values.
    inbox: &'static Inbox,
}

impl Handover for BrigadePool {
    fn start(receivers: usize, inbox: &'static Inbox) -> io::Result<Self> {
        let pool = Pool::builder().threads(receivers).prestart().build()?;
        Ok(BrigadePool { pool, inbox })
    }

    #[inline]
    fn burst(&mut self, mut values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        let (inbox, mut last) = (self.inbox, None);
        let jobs = values.by_ref().map(|value| {
            last = Some(value);
            move || inbox.receive(value)
        });
        // What comes back begins with the job of the last value that was asked for.
        if !self.pool.dispatch(jobs).is_empty() {
            back.extend(last);
            back.extend(values);
        }
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
