//! The CPUs for the threads of a pool, and their distances.
//!
//! A [`Cpus`] is the request of a user. It [resolves](Cpus::resolve) to [`Pins`], which pin the calling thread. [`Victims`] is the order in which idle
//! workers try their peers; by the pins and the [`Topology`] it [resolves](Victims::resolve) to [`Neighbours`].
//!
//! Each module imports only from those below it:
//!
//! ```text
//! victims
//! cpus
//! topology
//! ```

mod cpus;
mod topology;
mod victims;

pub use cpus::{Cpus, Pins};
pub use topology::Topology;
pub use victims::{Neighbours, Rings, Victims};
