//! Threads that wait until the pool is idle, and jobs that wait while their worker is parked or blocked.

/// Threads that wait until the pool is idle.
#[derive(Default)]
pub(in crate::engine::idle) struct Quiet {
    pub(in crate::engine::idle) waiting: usize,
    /// How many quiet moments have been noted, while threads waited.
    pub(in crate::engine::idle) moments: u64,
}

/// Jobs that wait while their worker is parked or blocked.
#[derive(Default)]
pub(in crate::engine::idle) struct Waits {
    /// Those whose worker may be parked.
    pub(in crate::engine::idle) parked: usize,
    /// How many of these wait for jobs of their own pool only.
    pub(in crate::engine::idle) own_parked: usize,
    /// How many workers are blocked by such a wait.
    pub(in crate::engine::idle) own_blocked: usize,
}
