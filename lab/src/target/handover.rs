//! The traits of handovers: a channel, or a pool that is used as one.
//!
//! A channel is a [`Channel`], and its receivers run on the laboratory's threads, one per receiver, as they would in
//! a user's program. A pool has its own threads and is a [`Handover`] itself: `burst` submits a job for each value,
//! which passes the value to the inbox.

use std::io;
use std::thread::{Builder, JoinHandle};

use crate::failure::Outcome;
use crate::inbox::{Inbox, Value};

/// Threads that wait for values.
pub(crate) trait Handover: Sized + 'static {
    /// Hands these values over and wakes the threads that got one. If the target does not queue the others, they are
    /// added to `back`.
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>);

    /// Ends the threads. All that was handed over has been received.
    fn shutdown(self);
}

/// The sender's end of a channel.
pub(crate) trait Channel: Send + Sized + 'static {
    /// A further receiver: waits for a value; `None` once the sender is gone.
    fn receiver(&mut self) -> impl FnMut() -> Option<Value> + Send + 'static;

    /// See [`Handover::burst`].
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>);
}

/// A channel and the threads that receive from it.
pub(crate) struct Receivers<C> {
    /// The sender's end.
    sender: C,
    /// The threads.
    threads: Vec<JoinHandle<()>>,
}

impl<C: Channel> Receivers<C> {
    /// Starts this many threads that receive from the channel of `sender`, which has no receivers yet.
    pub(crate) fn start(
        mut sender: C,
        receivers: usize,
        inbox: &'static Inbox,
    ) -> io::Result<Self> {
        let threads = (0..receivers).map(|_| {
            let mut next = sender.receiver();
            let receive = move || {
                while let Some(value) = next() {
                    inbox.receive(value);
                }
            };
            Builder::new().name("receiver".to_owned()).spawn(receive)
        });
        let threads = threads.collect::<io::Result<_>>()?;
        Ok(Receivers { sender, threads })
    }
}

impl<C: Channel> Handover for Receivers<C> {
    #[inline]
    fn burst(&mut self, values: impl ExactSizeIterator<Item = Value>, back: &mut Vec<Value>) {
        self.sender.burst(values, back);
    }

    fn shutdown(self) {
        drop(self.sender);
        // A thread that panicked has printed that, and the value it should have received is missing.
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Starts this many threads, which pass each value they receive to the inbox.
pub(crate) type Start<H> = fn(usize, &'static Inbox) -> io::Result<H>;

/// An operation on waiting threads, generic over the handover.
pub(crate) trait VisitHandover {
    /// Runs it with threads that `start` starts.
    fn visit<H: Handover>(self, start: Start<H>) -> Outcome;
}
