//! The I/O driver and the timers, on whichever thread polls them.

mod batches;
mod candidates;
#[cfg(feature = "io")]
mod files;
#[cfg(feature = "io")]
mod fs;
mod holder;
// Its workers are pinned.
#[cfg(all(feature = "io", target_os = "linux"))]
mod monitor;
#[cfg(feature = "io")]
mod names;
