//! Rings.

mod edges;
mod soundness;
mod st3_shape;
