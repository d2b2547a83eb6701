//! Timers.

mod cancel;
mod ending;
mod precision;
mod schedule;
mod sleep;
