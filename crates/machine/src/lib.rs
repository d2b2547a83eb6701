//! The CPUs that the threads of a pool run on, and which of them are near each other.
//!
//! A [`Cpus`] is what a user asks for. It [resolves](Cpus::resolve) to [`Pins`], which pin the calling thread. [`Victims`] is the order in which idle
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
pub use topology::{Nodes, Topology};
pub use victims::{Neighbours, Rings, Victims};
