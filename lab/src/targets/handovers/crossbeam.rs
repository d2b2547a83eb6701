//! crossbeam-channel: unbounded, the usual choice, where values stay queued until a thread takes
//! them; and without capacity, where `try_send` rejects a value if no thread waits, as burst-pool
//! does, with a wake-up for each value.

use std::io;

use crossbeam_channel::{Receiver, Sender};

use crate::inbox::{Inbox, Value};
use crate::target::handover::Handover;

/// Starts the receiving threads of this channel.
pub(super) fn start(
    (sender, receiver): (Sender<Value>, Receiver<Value>),
    threads: usize,
    inbox: &'static Inbox,
) -> io::Result<Handover> {
    let receivers = vec![receiver; threads].into_iter();
    let receivers = receivers.map(|receiver| move || receiver.recv().ok()).collect();
    Handover::channel(receivers, inbox, move |values, back| {
        // In the unbounded channel this never fails, and works like `send`.
        let refused = values.filter_map(|value| sender.try_send(value).err());
        back.extend(refused.map(|error| error.into_inner()));
    })
}
