//! No delays: without `--cfg brigade_delays` nothing is called and nothing is compiled.

/// Does nothing.
#[inline(always)]
pub(crate) fn delay() {}
