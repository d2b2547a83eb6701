//! The choices of a channel: which receiver gets a value, and when it may receive it.

/// Which of several waiting receivers is handed a value.
///
/// ```
/// use brigade_burst::{Delivery, Sender, Turns};
///
/// let sender = Sender::with(Turns::RoundRobin, Delivery::AtOnce);
/// let mut receivers = [(); 3].map(|()| sender.new_receiver());
/// let mut received = Vec::new();
/// for value in 0..5 {
///     for receiver in &mut receivers {
///         assert!(receiver.try_recv().is_err(), "all of them wait");
///     }
///     sender.dispatch(value)?;
///     received.push(receivers.iter_mut().position(|receiver| receiver.withdraw().is_some()));
/// }
/// assert_eq!(received, [0, 1, 2, 0, 1].map(Some));
/// # Ok::<(), brigade_burst::Busy<i32>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Turns {
    /// An awake receiver, if there is one, and of these the receiver with the lowest seat: its thread ran last, and the
    /// cache is warm. The default.
    #[default]
    AwakeFirst,
    /// The next after the receiver served last, in the order of their seats: the order of creation, where a new receiver
    /// has the seat of a dropped receiver if there is any.
    ///
    /// Exact as long as one thread at a time hands values over. Concurrent senders may serve receivers out of turn.
    RoundRobin,
}

/// When a receiver may receive a value handed to it.
///
/// ```
/// use brigade_burst::{Delivery, Sender, TryRecvError, Turns};
///
/// let sender = Sender::with(Turns::AwakeFirst, Delivery::OnWake);
/// let mut receiver = sender.new_receiver();
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
/// sender.dispatch("now")?;
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty), "not yet");
/// sender.wake();
/// assert_eq!(receiver.try_recv(), Ok("now"));
/// # Ok::<(), brigade_burst::Busy<&str>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// At once: an awake receiver need not wait for the wake. The default.
    #[default]
    AtOnce,
    /// After the next [`Sender::wake`](crate::Sender::wake), also by an awake receiver: all values of a burst are received
    /// after the last was handed over. What happens before the wake happens before the value is received.
    ///
    /// Dropping the sender counts as a wake. A value returned from [`withdraw`](crate::Receiver::withdraw), or left behind by
    /// a dropped receiver, does not wait for a wake.
    OnWake,
}
