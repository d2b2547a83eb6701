//! Time, as a pool keeps it.

pub(crate) mod timers;
