//! What hands values to threads that wait for them: channels, and a pool that does the same.
//!
//! A channel is a [`Channel`], and its receivers are threads of ours, one per receiver, as they
//! would be a user's. A pool has threads of its own and is a [`Handover`] itself: `burst` then gives
//! it a job for each value, which passes the value to the inbox.

mod brigade;
#[cfg(target_os = "linux")]
mod burst_pool;
mod crossbeam;
mod spmc;

use std::io;
use std::thread::{Builder, JoinHandle};

pub(crate) use self::brigade::{BrigadeBurst, BrigadePool};
#[cfg(target_os = "linux")]
pub(crate) use self::burst_pool::BurstPool;
pub(crate) use self::crossbeam::{CrossbeamUnbounded, CrossbeamZero};
pub(crate) use self::spmc::Spmc;

use crate::inbox::{Inbox, Value};

/// Threads that wait for values.
pub(crate) trait Handover: Sized + 'static {
    /// Starts so many threads, which give what they receive to `inbox`, one value at a time.
    fn start(receivers: usize, inbox: &'static Inbox) -> io::Result<Self>;

    /// Hands these values over and wakes who got one. Those that nobody takes now, if the target does
    /// not keep them for later, are added to `back`.
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>);

    /// Ends the threads. All that was handed over has been received.
    fn shutdown(self);
}

/// The sender's end of a channel.
pub(crate) trait Channel: Send + Sized + 'static {
    /// What a thread receives with.
    type Receiver: Receive;

    /// A channel without receivers.
    fn new() -> Self;

    /// A further receiver.
    fn receiver(&mut self) -> Self::Receiver;

    /// See [`Handover::burst`].
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>);
}

/// The receiver's end of a channel.
pub(crate) trait Receive: Send + 'static {
    /// Waits for a value. None comes once the sender is gone.
    fn receive(&mut self) -> Option<Value>;
}

/// A channel and the threads that receive from it.
pub(crate) struct Receivers<C> {
    /// The sender's end.
    sender: C,
    /// The threads.
    threads: Vec<JoinHandle<()>>,
}

impl<C: Channel> Handover for Receivers<C> {
    fn start(receivers: usize, inbox: &'static Inbox) -> io::Result<Self> {
        let mut sender = C::new();
        let threads = (0..receivers).map(|_| {
            let mut receiver = sender.receiver();
            let receive = move || {
                while let Some(value) = receiver.receive() {
                    inbox.receive(value);
                }
            };
            Builder::new().name("receiver".to_owned()).spawn(receive)
        });
        let threads = threads.collect::<io::Result<_>>()?;
        Ok(Receivers { sender, threads })
    }

    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        self.sender.burst(values, back);
    }

    fn shutdown(self) {
        drop(self.sender);
        // One that panicked has said so, and the value it should have received is missing.
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Which target of this family it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoverKind {
    /// `brigade_burst`.
    BrigadeBurst,
    /// `brigade::Pool::dispatch`.
    BrigadePool,
    /// `burst_pool`.
    #[cfg(target_os = "linux")]
    BurstPool,
    /// `spmc::channel`.
    Spmc,
    /// `crossbeam_channel::unbounded`.
    Crossbeam,
    /// `crossbeam_channel::bounded(0)`.
    CrossbeamZero,
}

#[cfg(test)]
mod tests;
