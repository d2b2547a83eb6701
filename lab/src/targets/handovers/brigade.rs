//! brigade: the channel, which hands over as many values as receivers wait and wakes them with one call; and
//! the pool, with as many jobs as threads are idle.

use std::io;
use std::vec;

use brigade::Pool;
use brigade_burst::Sender;

use crate::inbox::Inbox;
use crate::target::handover::Handover;

/// Starts the receiving threads of the channel.
pub(super) fn burst(threads: usize, inbox: &'static Inbox) -> io::Result<Handover> {
    let sender = Sender::new();
    let receivers = (0..threads).map(|_| {
        let mut receiver = sender.new_receiver();
        move || receiver.recv().ok()
    });
    let receivers = receivers.collect();
    Handover::channel(receivers, inbox, move |values, back| back.extend(sender.burst(values)))
}

/// Starts the pool, whose idle threads are the receivers.
pub(super) fn pool(threads: usize, inbox: &'static Inbox) -> io::Result<Handover> {
    let pool = Pool::builder().threads(threads).prestart(threads).build()?;
    let burst = move |values: vec::IntoIter<_>, back: &mut Vec<_>| {
        let values = values.as_slice();
        let jobs = values.iter().map(|&value| move || inbox.receive(value));
        // The rejected jobs are returned in order, so they are those of the last values; a value can't be
        // taken out of a job.
        let refused = pool.job().dispatch(jobs).count();
        back.extend(&values[values.len() - refused..]);
    };
    // The pool ends with the owner, after all jobs.
    Ok(Handover::new(inbox, burst, || ()))
}
