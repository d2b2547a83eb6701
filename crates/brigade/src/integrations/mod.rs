//! Integrations with other crates. No module may depend on them; lib.rs exports their types.

#[cfg(feature = "executor")]
mod executor;
#[cfg(feature = "metrics")]
mod exporter;
#[cfg(feature = "unstable-foreign")]
pub mod foreign;
#[cfg(feature = "futures")]
mod futures;
#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "orx-parallel")]
mod orx;

#[cfg(feature = "metrics")]
pub use exporter::MetricsExporter;
#[cfg(feature = "orx-parallel")]
pub use orx::OrxScope;
