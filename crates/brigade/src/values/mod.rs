//! The values that users give to a pool and get from it: configuration, priorities, rejections, counters. This module
//! must not know the engine.

mod affinity;
mod config;
mod metrics;
mod observed;
mod opaque;
mod priority;
mod rejected;
mod role;

pub(crate) use config::{AGEING, Config, Hook, Hooks, INJECTOR_INTERVAL, KEEP_ALIVE, Name, Size};
pub use config::{
    Growth, Idle, OnPanic, Order, PanicCallback, Placement, Queueing, Report, Shutdown,
    ShutdownOptions, Threads, WhenFull,
};
pub(crate) use metrics::{Awake, Counters, Totals};
pub use metrics::{Metrics, WorkerMetrics};
pub(crate) use observed::{ListedTimer, Observer, Settings, Watch, Watcher};
pub(crate) use opaque::opaque;
pub use priority::Priority;
pub use rejected::{Reason, Rejected};
pub(crate) use rejected::{closure_of, expect_accepted, refuse};
pub use role::{Role, WorkerInfo};
