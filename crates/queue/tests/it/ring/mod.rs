//! Rings.

mod edges;
mod search;
mod soundness;
mod st3_shape;
