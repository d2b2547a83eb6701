//! The I/O driver and the timers, on whichever thread polls them.

mod batches;
mod candidates;
#[cfg(feature = "io")]
mod files;
#[cfg(feature = "io")]
mod fs;
mod holder;
#[cfg(feature = "io")]
mod monitor;
#[cfg(feature = "io")]
mod names;
