//! [brigade_rayon_core] under the name of rayon-core, for `[patch.crates-io]`.
#![forbid(unsafe_code)]

pub use brigade_rayon_core::*;
