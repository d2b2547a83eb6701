//! Waiting until a pool is idle.

mod late_workers;
mod later_work;
mod wait_idle;
mod waves;
