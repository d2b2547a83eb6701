//! The kinds of values, as the driver distinguishes them.

use crate::sys::{Mode, Pollable, Poller, borrow};

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// A byte stream: a short read or write takes all there is, unless there is urgent data.
    stream: bool,
    /// Many tasks on several threads wait for such values at a time.
    socket: bool,
    /// It can't be used before the first event.
    connecting: bool,
}

impl Kind {
    /// Anything else.
    const OTHER: Self = Self { stream: false, socket: false, connecting: false };
    /// A pipe.
    #[cfg(unix)]
    pub(crate) const PIPE: Self = Self { stream: true, ..Self::OTHER };
    /// A socket for messages, or for more than bytes: a read of a Unix stream ends where descriptors were
    /// passed.
    pub(crate) const MESSAGES: Self = Self { socket: true, ..Self::OTHER };
    /// A TCP connection.
    pub(crate) const STREAM: Self = Self { stream: true, ..Self::MESSAGES };

    /// Asks the operating system.
    pub(crate) fn of<T: Pollable>(io: &T) -> Self {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Ok(Some(rustix::net::ipproto::TCP)) =
            rustix::net::sockopt::socket_protocol(borrow(io))
        {
            return Self::STREAM;
        }
        match rustix::net::sockopt::socket_type(borrow(io)) {
            Ok(_) => Self::MESSAGES,
            Err(_) => Self::OTHER,
        }
    }

    /// The same, but the connection is being established.
    pub(crate) const fn connecting(self) -> Self {
        Self { connecting: true, ..self }
    }

    /// Returns how such a value is treated.
    pub(crate) fn mode(self, poller: &Poller) -> Mode {
        let trigger = poller.trigger(self.socket);
        let short_is_last =
            trigger.reports_what_is_left() || (self.stream && Poller::REPORTS_THE_END);
        Mode { trigger, untried: !self.connecting, short_is_last }
    }
}
