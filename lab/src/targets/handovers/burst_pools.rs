//! burst-pool, used as in its own benchmark: a box per value, as many as receivers wait, then one call that wakes them. The box is
//! part of the price of sending. And the same interface on brigade, the package of `crates/compat`.
//!
//! A receiver of burst-pool 0.5.1 that is awake because of another's wake-up panics if the sender has
//! chosen it and not yet stored the value. It is awake only as long as a receiver has not received what
//! was sent before. So a burst must begin when all of the one before has been received, as `burst` does:
//! then the eventfd is at 0, since each value raises it by one and each receipt lowers it by one, and
//! every receiver sleeps until `wake_all`, which comes after the last value. A thread that still panics (a
//! signal may cause that too) receives nothing any more; its value is missing, and the run has no number.
//! The eventfd is never closed: each run leaks one file descriptor.

use std::io;

use crate::inbox::{Inbox, Value};
use crate::target::handover::{Channel, Receivers};

/// A module with the channel of one of the two crates.
macro_rules! channel {
    ($module:ident, $from:ident) => {
        pub(super) mod $module {
            use super::*;
            use ::$from::Sender;

            /// Starts threads that receive from the channel.
            pub(crate) fn start(
                receivers: usize,
                inbox: &'static Inbox,
            ) -> io::Result<Receivers<BurstPool>> {
                Receivers::start(BurstPool(Sender::new()), receivers, inbox)
            }

            /// The sender.
            pub(crate) struct BurstPool(Sender<Value>);

            impl Channel for BurstPool {
                fn receiver(&mut self) -> impl FnMut() -> Option<Value> + Send + 'static {
                    let mut receiver = self.0.mk_receiver();
                    move || receiver.recv().ok().map(|value| *value)
                }

                #[inline]
                fn burst(
                    &mut self,
                    mut values: impl ExactSizeIterator<Item = Value>,
                    back: &mut Vec<Value>,
                ) {
                    // If one is returned no receiver waits any more, and trying another is useless.
                    let refused = values.find_map(|value| self.0.enqueue(Box::new(value)));
                    self.0.wake_all();
                    back.extend(refused.into_iter().map(|value| *value).chain(values));
                }
            }
        }
    };
}

#[cfg(target_os = "linux")]
channel!(burst_pool, burst_pool);

#[cfg(feature = "full")]
channel!(brigade_burst_pool, brigade_burst_pool);
