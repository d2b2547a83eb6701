//! The I/O driver and the timers, on whichever thread polls them.

mod batches;
#[cfg(feature = "io")]
mod files;
#[cfg(feature = "io")]
mod fs;
mod keeping;
#[cfg(feature = "io")]
mod monitor;
#[cfg(feature = "io")]
mod names;
mod standing_by;
