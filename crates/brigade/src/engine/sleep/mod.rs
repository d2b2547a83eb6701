//! How a thread waits: its backoff, the place where it parks, and the driver of timers and I/O that it may poll there. It must not
//! know which worker sleeps, nor the queues.

pub(crate) mod backoff;
pub(crate) mod events;
pub(crate) mod park_spot;
pub(crate) mod resources;
pub(crate) mod signal;
pub(crate) mod sleeper;
