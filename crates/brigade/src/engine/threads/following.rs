//! A pool whose size follows the number of threads that the process may run at once.
//!
//! That number changes with the quota and the CPUs of the process's cgroup, which a container's manager may set at any time. The system
//! announces neither, so a busy worker looks from time to time; an idle pool need not know.
//!
//! It is the number for threads that begin as the pool's threads do. The affinity of the worker that happens to look is of no
//! account: the worker may be pinned, by the pool, a hook or a job.

use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::atomic::Ordering;
use brigade_sync::thread::Inherited;
use brigade_sync::time;
use brigade_sync::unmodelled::{AtomicU64, Mutex};

use crate::values::{Config, Follow};

/// What a pool's size follows.
pub(in crate::engine) struct Following {
    begin: Instant,
    /// Milliseconds from `begin` to the next look; `u64::MAX` for none.
    next: AtomicU64,
    /// The values that the pool's threads begin with.
    inherited: Arc<Inherited>,
    state: Mutex<State>,
}

struct State {
    /// `None` if the size is the user's.
    follow: Option<Follow>,
    /// The number of threads that was read last.
    number: usize,
}

impl Following {
    /// Follows what the configuration says, if anything, beginning with the size there.
    pub(in crate::engine) fn new(config: &Config) -> Self {
        let next = config.follow.map_or(u64::MAX, |follow| millis(follow.every));
        let state = Mutex::new(State { follow: config.follow, number: config.size.max });
        let inherited = config.inherited.clone();
        Self { begin: time::now(), next: AtomicU64::new(next), inherited, state }
    }

    /// Calls `resize` with the number of threads if that has changed since it was read last, and it is time to look; returns whether
    /// it did.
    pub(in crate::engine) fn look(&self, resize: impl FnOnce(usize)) -> bool {
        let now = millis(time::since(self.begin));
        // Ordering: Relaxed: the lock orders what follows.
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

    /// Follows nothing any more, and calls `resize` after that.
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
