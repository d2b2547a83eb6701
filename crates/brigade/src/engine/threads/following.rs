//! A pool size that follows the number of threads the process may run at once.
//!
//! This number changes with the quota and the CPUs of the process's cgroup, which a container's manager may set at any
//! time. The system announces neither, so a busy worker looks from time to time; an idle pool need not know.
//!
//! The number applies to threads that begin as the pool's threads do. The affinity of the looking worker is ignored:
//! the worker may be pinned by the pool, a hook or a job.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::atomic::Ordering;
use brigade_sync::thread::Inherited;
use brigade_sync::time;
use brigade_sync::unmodelled::{AtomicU64, Mutex};

use crate::values::{Config, Follow};

/// The source of a pool's size, and when to look there.
pub(in crate::engine) struct Following {
    begin: Instant,
    /// Milliseconds from `begin` to the next look; `u64::MAX` for none.
    next: AtomicU64,
    /// The values with which the pool's threads begin.
    inherited: Arc<Inherited>,
    state: Mutex<State>,
}

struct State {
    /// `None` if the user has set the size.
    follow: Option<Follow>,
    /// The number of threads read last.
    number: usize,
}

impl Following {
    /// Follows the configured source, if any, beginning with the configured size.
    pub(in crate::engine) fn new(config: &Config) -> Self {
        let next = config.follow.map_or(u64::MAX, |follow| millis(follow.every));
        let state = Mutex::new(State { follow: config.follow, number: config.size.max });
        let inherited = config.inherited.clone();
        Self { begin: time::now(), next: AtomicU64::new(next), inherited, state }
    }

    /// If it is time to look, and the number of threads has changed since the last look, calls `resize` with it;
    /// returns whether it did.
    pub(in crate::engine) fn look(&self, resize: impl FnOnce(usize)) -> bool {
        let now = millis(time::since(self.begin));
        // Ordering: Relaxed: the lock orders the rest.
        now >= self.next.load(Ordering::Relaxed) && self.look_now(now, resize)
    }

    #[cold]
    fn look_now(&self, now: u64, resize: impl FnOnce(usize)) -> bool {
        let mut state = self.state.lock();
        let Some(follow) = state.follow.filter(|_| now >= self.next.load(Ordering::Relaxed)) else {
            return false;
        };
        self.next.store(now + millis(follow.every), Ordering::Relaxed);
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
        self.next.store(u64::MAX, Ordering::Relaxed);
        resize();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
