//! burst-pool, used as in the crate's benchmark: a box per value, as many as receivers wait, then one call to wake them. The box
//! is part of the price of sending. And the same interface on brigade, the package of `crates/compat`.
//!
//! A receiver of burst-pool 0.5.1, woken by another's wake-up, panics if the sender has chosen it and not yet
//! stored the value. It is awake only as long as an earlier value is unreceived. So a burst must begin when the
//! whole burst before has been received, as `burst` does: then the eventfd is at 0, since each value raises it
//! by 1 and each receipt lowers it by 1, and every receiver sleeps until `wake_all`, which comes after the last
//! value. If a thread still panics (a signal may cause it too), it receives nothing any more; the value is
//! missing, and the run has no number. The eventfd is never closed: each run leaks one file descriptor.

use std::io;

use crate::inbox::Inbox;
use crate::target::handover::Handover;

/// A function that starts the receiving threads for the channel of either crate.
macro_rules! channel {
    ($start:ident) => {
        /// Starts the receiving threads of the channel.
        pub(super) fn $start(threads: usize, inbox: &'static Inbox) -> io::Result<Handover> {
            let mut sender = ::$start::Sender::new();
            let receivers = (0..threads).map(|_| {
                let mut receiver = sender.mk_receiver();
                move || receiver.recv().ok().map(|value: Box<_>| *value)
            });
            let receivers = receivers.collect();
            Handover::channel(receivers, inbox, move |mut values, back| {
                // If a value is returned no receiver waits any more, and trying another is useless.
                let refused = values.find_map(|value| sender.enqueue(Box::new(value)));
                sender.wake_all();
                back.extend(refused.into_iter().map(|value| *value).chain(values));
            })
        }
    };
}

#[cfg(target_os = "linux")]
channel!(burst_pool);

#[cfg(feature = "full")]
channel!(brigade_burst_pool);
