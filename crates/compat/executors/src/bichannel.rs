//! Channels in both directions between two threads, made of two of [`std::sync::mpsc`].

use std::sync::mpsc::{
    Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, TryIter, TryRecvError, channel,
};
use std::time::Duration;

/// Creates the two ends of a channel: the first sends `Left` and receives `Right`, the second the reverse.
///
/// Sending never waits. Values arrive at the other end in the order of sending.
///
/// ```
/// use executors::bichannel::bichannel;
/// let (left, right) = bichannel::<u32, String>();
/// let worker = std::thread::spawn(move || {
///     for number in right.iter() {
///         right.send(format!("no. {number}")).unwrap();
///     }
/// });
/// left.send(42).unwrap();
/// assert_eq!(left.recv().unwrap(), "no. 42");
/// drop(left);
/// worker.join().unwrap();
/// ```
pub fn bichannel<Left, Right>() -> (Endpoint<Right, Left>, Endpoint<Left, Right>) {
    let ((left, from_left), (right, from_right)) = (channel(), channel());
    (
        Endpoint { sender: left, receiver: from_right },
        Endpoint { sender: right, receiver: from_left },
    )
}

/// An end of a channel: it receives `In` and sends `Out`.
pub struct Endpoint<In, Out> {
    sender: Sender<Out>,
    receiver: Receiver<In>,
}

impl<In, Out> Endpoint<In, Out> {
    /// Sends a value to the other end; never waits.
    ///
    /// # Errors
    /// Returns the value if the other end has been dropped.
    pub fn send(&self, t: Out) -> Result<(), SendError<Out>> {
        self.sender.send(t)
    }

    /// Receives a value if one has arrived; never waits.
    ///
    /// # Errors
    /// If no value is there, or none can arrive any more as the other end has been dropped.
    pub fn try_recv(&self) -> Result<In, TryRecvError> {
        self.receiver.try_recv()
    }

    /// Receives a value, and waits for it.
    ///
    /// # Errors
    /// If none has arrived and the other end has been dropped.
    pub fn recv(&self) -> Result<In, RecvError> {
        self.receiver.recv()
    }

    /// Receives a value, and waits for it for at most `timeout`.
    ///
    /// # Errors
    /// If no value has arrived in the time, or none can arrive any more as the other end has been dropped.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<In, RecvTimeoutError> {
        self.receiver.recv_timeout(timeout)
    }

    /// Returns an iterator over arriving values. It waits for each value, and ends when the other end has been dropped.
    pub fn iter(&self) -> Iter<'_, In> {
        self.receiver.iter()
    }

    /// Returns an iterator over the values received so far. It never waits.
    pub fn try_iter(&self) -> TryIter<'_, In> {
        self.receiver.try_iter()
    }
}
