//! Task sets.

mod basics;
mod cancel;
mod capacity;
mod deadlocks;
mod futures;
mod limit;
mod on_workers;
