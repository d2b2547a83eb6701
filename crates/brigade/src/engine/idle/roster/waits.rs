//! Threads that wait until the pool is idle, and jobs that wait while their worker is parked or blocked.

/// Threads that wait until the pool is idle.
#[derive(Default)]
pub(in crate::engine::idle) struct Quiet {
    pub(in crate::engine::idle) waiting: usize,
    /// How many quiet moments have been noted while threads waited.
    pub(in crate::engine::idle) moments: u64,
}

/// Jobs that wait while their worker is parked or blocked.
#[derive(Default)]
pub(in crate::engine::idle) struct Waits {
    /// How many of these jobs have a worker that may be parked.
    pub(in crate::engine::idle) parked: usize,
    /// How many of them wait only for jobs of the same pool.
    pub(in crate::engine::idle) own_parked: usize,
    /// How many workers are blocked by a wait only for jobs of the same pool.
    pub(in crate::engine::idle) own_blocked: usize,
}
