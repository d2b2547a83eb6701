//! What a thread sleeps on: the parker of a worker, the driver of I/O and timers, or a backoff before either.

pub(super) mod backoff;
pub(super) mod events;
pub(super) mod resources;
pub(super) mod sleeper;
