//! Borrowing jobs and parallel loops. This module must not know timers and sets.

#[cfg(doctest)]
mod borrows;
mod outside;
mod parallel;
#[cfg(feature = "unstable-foreign")]
mod scope_with;
mod scoped;

#[cfg(feature = "orx-parallel")]
pub(crate) use outside::accepted;
pub use parallel::{
    ParItems, map_reduce, par_chunks, par_chunks_mut, par_for, par_for_with, par_map, try_par_for,
};
#[cfg(feature = "unstable-foreign")]
pub use scope_with::in_place_scope_with;
pub use scoped::{Scope, ScopedJoinHandle, in_place_scope, join, scope};
