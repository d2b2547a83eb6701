//! Task sets.

mod basics;
mod cancel;
mod capacity;
mod changes;
mod deadline;
mod deadlocks;
mod futures;
mod ids;
mod kinds;
mod limit;
mod map;
mod on_workers;
mod settings;
