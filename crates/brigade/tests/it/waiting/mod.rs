//! Waiting until a pool is idle.

mod dozing;
mod threads_that_change;
mod unwinding;
mod wait_idle;
mod while_others_submit;
