//! Task sets.

mod basics;
mod cancel;
mod capacity;
mod deadlocks;
mod limit;
mod on_workers;
