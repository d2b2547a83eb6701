//! Task sets.

mod basics;
mod cancel;
mod capacity;
mod changes;
mod deadlocks;
mod futures;
mod ids;
mod limit;
mod on_workers;
