//! spmc, the channel that burst-pool compares itself with: values that no thread takes now stay queued.

use std::io;

use spmc::{Receiver, Sender};

use crate::inbox::{Inbox, Value};
use crate::target::handover::{Channel, Receivers};

/// Starts threads that receive from the channel.
pub(super) fn start(receivers: usize, inbox: &'static Inbox) -> io::Result<Receivers<Spmc>> {
    let (sender, receiver) = spmc::channel();
    Receivers::start(Spmc { sender, receiver }, receivers, inbox)
}

/// spmc's sender, and a receiver to clone.
pub(crate) struct Spmc {
    /// The sender.
    sender: Sender<Value>,
    /// Receives nothing itself.
    receiver: Receiver<Value>,
}

impl Channel for Spmc {
    fn receiver(&mut self) -> impl FnMut() -> Option<Value> + Send + 'static {
        let receiver = self.receiver.clone();
        move || receiver.recv().ok()
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        // Fails only without receivers, and this holds one.
        back.extend(values.filter_map(|value| self.sender.send(value).err()).map(|error| error.0));
    }
}
