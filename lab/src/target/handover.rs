//! Handovers: a channel, or a pool used as a channel.
//!
//! The receivers of a channel run on the laboratory's threads, one per receiver, as in a user's program. A pool has threads: a job
//! for each value passes it to the inbox. A burst is a single call through a pointer, for all values.

use std::io;
use std::thread::Builder;
use std::vec;

use crate::failure::Outcome;
use crate::inbox::{Inbox, Value};

/// Hands these values over and wakes their receivers. If the target does not queue the others, they are added to the vector.
type Burst = dyn FnMut(vec::IntoIter<Value>, &mut Vec<Value>);

/// Waiting threads.
pub(crate) struct Handover {
    /// They pass the values to this.
    pub(crate) inbox: &'static Inbox,
    /// Owns the sender's end.
    burst: Box<Burst>,
    /// Waits for the threads, which end once the sender is gone.
    end: Box<dyn FnOnce()>,
}

impl Handover {
    /// A target: `burst` hands values to it, and `end` waits for its threads.
    pub(crate) fn new(
        inbox: &'static Inbox,
        burst: impl FnMut(vec::IntoIter<Value>, &mut Vec<Value>) + 'static,
        end: impl FnOnce() + 'static,
    ) -> Self {
        Handover { inbox, burst: Box::new(burst), end: Box::new(end) }
    }

    /// A channel: `burst` sends to it, and each receiver has a thread. A receiver waits for a value, and returns `None` once the sender
    /// is gone.
    pub(crate) fn channel<R: FnMut() -> Option<Value> + Send + 'static>(
        receivers: Vec<R>,
        inbox: &'static Inbox,
        burst: impl FnMut(vec::IntoIter<Value>, &mut Vec<Value>) + 'static,
    ) -> io::Result<Self> {
        let threads = receivers.into_iter().map(|mut next| {
            let receive = move || {
                while let Some(value) = next() {
                    inbox.receive(value);
                }
            };
            Builder::new().name("receiver".to_owned()).spawn(receive)
        });
        let threads = threads.collect::<io::Result<Vec<_>>>()?;
        // A panicked thread has printed a message, and its value is missing.
        let end = || threads.into_iter().for_each(|thread| drop(thread.join()));
        Ok(Handover::new(inbox, burst, end))
    }

    /// Hands these values over. Returned values are added to `back`.
    pub(crate) fn burst(&mut self, values: Vec<Value>, back: &mut Vec<Value>) {
        (self.burst)(values.into_iter(), back);
    }

    /// Ends the threads. All values handed over have been received.
    pub(crate) fn shutdown(self) {
        drop(self.burst);
        (self.end)();
    }
}

/// Starts this many threads, which pass each value they receive to the inbox.
pub(crate) type Start = fn(usize, &'static Inbox) -> io::Result<Handover>;

/// An operation on waiting threads.
pub(crate) trait VisitHandover {
    /// Runs it with the threads of `start`.
    fn visit(self, start: Start) -> Outcome;
}
