//! A pool size that follows the number of threads the process may run at once.
//!
//! This number changes with the quota and the CPUs of the process's cgroup, which a container's manager may set at any
//! time. The system announces neither, so a busy worker looks from time to time; an idle pool need not know.
//!
//! The number applies to threads that begin as the pool's threads do. The affinity of the looking worker is ignored:
//! the worker may be pinned by the pool, a hook or a job.

use std::sync::Arc;
use std::time::Instant;

use brigade_sync::thread::Inherited;
use brigade_sync::{Mutex, time};

use crate::values::{Config, Follow};

/// The source of a pool's size, and when to look there.
pub(in crate::engine) struct Following {
    /// The values with which the pool's threads begin.
    inherited: Arc<Inherited>,
    state: Mutex<State>,
}

struct State {
    /// `None` if the user has set the size.
    follow: Option<Follow>,
    /// The time of the last look.
    looked: Instant,
    /// The number of threads read last.
    number: usize,
}

impl Following {
    /// Follows the configured source, if any, beginning with the configured size.
    pub(in crate::engine) fn new(config: &Config) -> Self {
        let (follow, number) = (config.follow, config.size.max);
        let state = Mutex::new(State { follow, looked: time::now(), number });
        Self { inherited: config.inherited.clone(), state }
    }

    /// If it is time to look, and the number of threads has changed since the last look, calls `resize` with it;
    /// returns whether it did.
    pub(in crate::engine) fn look(&self, resize: impl FnOnce(usize)) -> bool {
        // Otherwise another worker is looking.
        let Some(mut state) = self.state.try_lock() else { return false };
        let is_due = |follow: &Follow| time::since(state.looked) >= follow.every;
        let Some(follow) = state.follow.filter(is_due) else { return false };
        state.looked = time::now();
        let known = (follow.read)(&self.inherited);
        let changed = known.filter(|&number| number != state.number);
        if let Some(number) = changed {
            state.number = number;
            resize(number);
        }
        changed.is_some()
    }

    /// Stops following, and then calls `resize`.
    pub(in crate::engine) fn stop(&self, resize: impl FnOnce()) {
        let mut state = self.state.lock();
        state.follow = None;
        resize();
    }
}
