//! spmc, the channel in burst-pool's own comparison: values stay queued until a thread takes them.

use std::io;

use crate::inbox::Inbox;
use crate::target::handover::Handover;

/// Starts the receiving threads of the channel.
pub(super) fn start(threads: usize, inbox: &'static Inbox) -> io::Result<Handover> {
    let (mut sender, receiver) = spmc::channel();
    // A spare: sending fails only without receivers.
    let receivers = vec![receiver.clone(); threads].into_iter();
    let receivers = receivers.map(|receiver| move || receiver.recv().ok()).collect();
    Handover::channel(receivers, inbox, move |values, back| {
        let _receiver = &receiver;
        back.extend(values.filter_map(|value| sender.send(value).err()).map(|error| error.0));
    })
}
