//! The role of a worker.

use std::sync::Arc;

/// The reason why a [worker](WorkerInfo) was started.
///
/// The role does not change. It does not decide which thread ends when the pool has more threads than it needs: any
/// thread that is idle for long may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Within the [core size](crate::Builder::threads): there were fewer threads.
    #[default]
    Core,
    /// Beyond the core size, up to the maximum: work was submitted, and no thread was idle.
    BeyondCore,
    /// Beyond the maximum, in place of a [blocked](crate::blocking()) thread.
    Spare,
}

/// A worker of a pool; see [`current_worker`](crate::current_worker).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// The [index](crate::current_worker_index) of the worker in the pool.
    pub index: usize,
    /// The reason why the worker was started.
    pub role: Role,
    /// The [name](crate::Builder::pool_name) of the pool.
    pub pool: Arc<str>,
}
