//! Which worker to wake for published work, and on which CPU; and the monitor, which wakes one for work that waits.
//! `README.md` has the rule and its proof, `MONITOR.md` the rules of the monitor.

#[cfg(all(test, brigade_loom))]
mod loom_tests;
pub(super) mod monitor;
pub(super) mod placement;
mod rule;
