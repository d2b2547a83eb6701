//! Waiting until a pool is idle.

mod parked_in_a_wait;
mod threads_that_change;
mod unwinding;
mod wait_idle;
mod while_others_submit;
mod woken;
