//! Futures on a pool.

mod block_on;
mod busy;
mod cancel;
mod ending;
mod join_handles;
mod joined_locals;
mod large;
mod local;
mod local_and_pool;
mod never_waiting;
mod off_pool;
mod spawning;
mod wakers;
