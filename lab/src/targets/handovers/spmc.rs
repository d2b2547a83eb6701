//! spmc, the channel that burst-pool compares itself with: values that no thread takes now stay queued.

use std::io;

use crate::inbox::Inbox;
use crate::target::handover::Handover;

/// Starts threads that receive from the channel.
pub(super) fn start(threads: usize, inbox: &'static Inbox) -> io::Result<Handover> {
    let (mut sender, receiver) = spmc::channel();
    // One more: sending fails only without receivers.
    let receivers = vec![receiver.clone(); threads].into_iter();
    let receivers = receivers.map(|receiver| move || receiver.recv().ok()).collect();
    Handover::channel(receivers, inbox, move |values, back| {
        let _receiver = &receiver;
        back.extend(values.filter_map(|value| sender.send(value).err()).map(|error| error.0));
    })
}
