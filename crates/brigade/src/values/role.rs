//! What a worker was started as.

use std::sync::Arc;

/// What a [worker](WorkerInfo) was started as.
///
/// The role is the reason why the thread was started, and does not change. It does not decide which thread ends when the pool has more
/// than it needs: any thread that is idle for long may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// One of the [core size](crate::Builder::threads): there were fewer.
    #[default]
    Core,
    /// One beyond the core size, up to the maximum: work was submitted, and no thread was idle.
    BeyondCore,
    /// One beyond the maximum, in place of a [blocked](crate::blocking()) one.
    Spare,
}

/// A worker of a pool; see [`current_worker`](crate::current_worker).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// Its [index](crate::current_worker_index) in the pool.
    pub index: usize,
    /// What it was started as.
    pub role: Role,
    /// The [name](crate::Builder::pool_name) of the pool.
    pub pool: Arc<str>,
}
