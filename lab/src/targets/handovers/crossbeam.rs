//! crossbeam-channel: unbounded, the usual choice, where values that no thread takes now stay
//! queued; and without capacity, where `try_send` rejects a value if no thread waits, as burst-pool
//! does, with a wake-up for each value.

use std::io;

use crossbeam_channel::{Receiver, Sender};

use crate::inbox::{Inbox, Value};
use crate::target::handover::{Channel, Receivers};

/// Starts threads that receive from this channel.
pub(super) fn start(
    (sender, receiver): (Sender<Value>, Receiver<Value>),
    receivers: usize,
    inbox: &'static Inbox,
) -> io::Result<Receivers<Crossbeam>> {
    Receivers::start(Crossbeam { sender, receiver }, receivers, inbox)
}

/// crossbeam's sender, and a receiver to clone.
pub(crate) struct Crossbeam {
    /// The sender.
    sender: Sender<Value>,
    /// Receives nothing itself.
    receiver: Receiver<Value>,
}

impl Channel for Crossbeam {
    fn receiver(&mut self) -> impl FnMut() -> Option<Value> + Send + 'static {
        let receiver = self.receiver.clone();
        move || receiver.recv().ok()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // In the unbounded channel this never fails and does what `send` does.
        let refused = values.filter_map(|value| self.sender.try_send(value).err());
        back.extend(refused.map(|error| error.into_inner()));
    }
}
