//! Borrowing jobs and parallel loops. This module must not know timers and sets.

#[cfg(doctest)]
mod borrows;
mod parallel;
mod scoped;

pub use parallel::{ParItems, map_reduce, par_chunks, par_chunks_mut, par_for};
#[cfg(feature = "orx-parallel")]
pub(crate) use scoped::accepted;
pub use scoped::{Scope, ScopedJoinHandle, in_place_scope, in_place_scope_with, join, scope};
