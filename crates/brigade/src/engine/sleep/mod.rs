//! How a thread waits: its backoff, the place where it parks, and the driver of timers and I/O, which it may poll
//! there. This module must know neither the queues nor which worker sleeps.

pub(crate) mod backoff;
pub(crate) mod events;
pub(crate) mod resources;
pub(crate) mod sleeper;
