//! Task sets.

mod basics;
mod cancel;
mod capacity;
mod limit;
mod on_workers;
