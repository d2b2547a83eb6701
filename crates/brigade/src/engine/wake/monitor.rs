//! The monitor: a thread of the process that looks after pools whose workers may all be in long jobs.
//! `engine/wake/MONITOR.md` has the rule.
//!
//! It is started when a pool first asks for it, sleeps while no pool does, and then ends after a second. It
//! runs no user code: it wakes parked workers.

use core::mem;
use core::time::Duration;
use std::sync::Arc;

use brigade_sync::atomic::{Ordering, fence};
use brigade_sync::fork::PerProcess;
use brigade_sync::thread::{Inherited, NewThread, run_in_short_slices};
use brigade_sync::{Condvar, Mutex, MutexGuard, time};

use crate::engine::idle::Watch;
use crate::engine::key::Key;
use crate::engine::roster::Roster;
use crate::engine::shared::Shared;
use crate::engine::sleep::backoff::LOOK_AGAIN;
use crate::engine::sleep::events::WATCH_PERIOD;

/// Looks at a pool after it asked.
const LOOKS: u32 = 16;

/// How long the thread sleeps while no pool asks for it, before it ends.
const IDLE: Duration = Duration::from_secs(1);

/// The monitor of this process.
static MONITOR: PerProcess<Monitor> = PerProcess::new();

/// Whether the thread exists: a seeded run waits for the end of the thread.
#[cfg(brigade_seeded)]
pub(crate) fn monitor_runs() -> bool {
    MONITOR.get().state.lock().runs
}

#[derive(Default)]
struct Monitor {
    state: Mutex<WatchList>,
    /// Notified when a pool asks.
    changed: Condvar,
}

#[derive(Default)]
struct WatchList {
    pools: Vec<WatchedPool>,
    /// Whether the thread exists.
    runs: bool,
    /// Whether a pool has asked since the thread last checked.
    is_asked: bool,
}

/// A watched pool.
struct WatchedPool {
    key: Key,
    how: Watch,
    /// Looks left before the pool is watched less closely, unless it asks again.
    left: u32,
}

/// The result of the last look at a pool.
#[derive(Default)]
pub(in crate::engine) struct Seen {
    /// The [epochs](crate::engine::queues::Queues::are_stuck) of the workers' queues.
    epochs: Vec<u64>,
    /// The number of polls of timers and I/O by the workers.
    polls: Option<u64>,
}

impl Shared {
    /// Asks the monitor to watch this pool; `false` if there can be no monitor. Work left to the monitor must
    /// have been published before this call, or be looked at once more after it.
    #[cold]
    #[inline(never)]
    pub(in crate::engine) fn ask_monitor(&self, how: Watch) -> bool {
        if !self.key.is_here() {
            return false;
        }
        let monitor = MONITOR.get();
        let mut state = monitor.state.lock();
        if !state.runs {
            let main = || MONITOR.get().run();
            let thread = NewThread::new("brigade-monitor".into(), None, main);
            state.runs = thread.inheriting(Inherited::of_the_process()).start().is_ok();
        }
        // The future of a job may end off the pool after the pool has terminated.
        if state.runs && !self.idle.snapshot().terminated() {
            self.idle.set_watch(state.watch(self.key, how));
            monitor.changed.notify_all();
        }
        state.runs
    }
}

/// Whether the monitor is needed for timers and I/O events.
fn has_events_unheld(shared: &Shared) -> bool {
    shared.events.are_wanted() && !shared.idle.snapshot().driver_held()
}

/// Looks at a pool, and wakes a worker if necessary. The pool was watched like `before` until this look, and is watched
/// like `now` from now on.
pub(in crate::engine) fn look(shared: &Shared, (before, now): (Watch, Watch), seen: &mut Seen) {
    // Ordering: as in `Idle::announce`: a thread that relied on the monitor published before this fence.
    fence(Ordering::SeqCst);
    let is_stuck = match (before, now) {
        (Watch::Closely, Watch::Closely) => shared.queues.are_stuck(&mut seen.epochs),
        (Watch::Closely, _) => {
            shared.queues.fence_forks();
            shared.queues.has_work()
        }
        _ => false,
    };
    let polls = Some(shared.events.polls());
    let is_polled = mem::replace(&mut seen.polls, polls) != polls;
    let needs_holder = has_events_unheld(shared) && (!is_polled || now == Watch::No);
    if needs_holder {
        shared.events.note_call();
    }
    if (is_stuck || needs_holder) && shared.idle.snapshot().searching() == 0 {
        // No worker is started here, because a start calls the user's spawner.
        match shared.idle.change(Roster::pick_parked) {
            Some(index) => shared.wake_beside(index),
            None if needs_holder => shared.events.candidates.call(),
            None => {}
        }
    }
}

impl WatchList {
    /// Watches a pool for [`LOOKS`] looks, at least as closely as `how`; returns how closely.
    fn watch(&mut self, key: Key, how: Watch) -> Watch {
        self.is_asked = true;
        for pool in &mut self.pools {
            if pool.key == key {
                (pool.how, pool.left) = (pool.how.max(how), LOOKS);
                return pool.how;
            }
        }
        self.pools.push(WatchedPool { key, how, left: LOOKS });
        how
    }

    /// Begins a look at each pool, and determines how closely the pool is watched from now on. Returns the pools, and
    /// how each was watched before and is watched now.
    fn begin(&mut self) -> Vec<(Arc<Shared>, (Watch, Watch))> {
        let mut looks = Vec::new();
        for mut pool in mem::take(&mut self.pools) {
            let Some(shared) = Shared::find(pool.key) else { continue };
            if shared.idle.snapshot().terminated() {
                continue;
            }
            let before = pool.how;
            pool.left -= 1;
            if pool.left == 0 {
                pool.left = LOOKS;
                let is_needed = before == Watch::Closely || has_events_unheld(&shared);
                pool.how = if is_needed { Watch::Widely } else { Watch::No };
                shared.idle.set_watch(pool.how);
            }
            looks.push((shared, (before, pool.how)));
            if pool.how != Watch::No {
                self.pools.push(pool);
            }
        }
        looks
    }
}

impl Monitor {
    /// The main function of the thread.
    fn run(&self) {
        run_in_short_slices();
        let (mut state, mut period) = (self.state.lock(), LOOK_AGAIN);
        let mut seen: Vec<(Key, Seen)> = Vec::new();
        while let Some(asked) = self.sleep(state, period) {
            state = asked;
            let looks = state.begin();
            drop(state);
            period = WATCH_PERIOD;
            // A pool that is no longer watched, and asks anew, starts anew.
            let mut last = mem::take(&mut seen);
            for (shared, change) in looks {
                let mut its = Seen::default();
                for (key, seen) in &mut last {
                    if *key == shared.key {
                        its = mem::take(seen);
                    }
                }
                look(&shared, change, &mut its);
                period = period.min(match change.1 {
                    // A job must be seen by two looks to count as stuck, so it waits for 2 ms at most.
                    Watch::Closely => LOOK_AGAIN,
                    _ => shared.events.timers.until().unwrap_or(WATCH_PERIOD).max(LOOK_AGAIN),
                });
                if change.1 != Watch::No {
                    seen.push((shared.key, its));
                }
            }
            state = self.state.lock();
        }
    }

    /// Sleeps until the next look; `None` if the thread must end.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, WatchList>,
        mut period: Duration,
    ) -> Option<MutexGuard<'a, WatchList>> {
        let mut begun = time::now();
        loop {
            if mem::take(&mut state.is_asked) {
                period = LOOK_AGAIN;
            }
            let is_idle = state.pools.is_empty();
            let time = if is_idle { IDLE } else { period };
            let left = time.saturating_sub(time::since(begun));
            if left.is_zero() {
                break;
            }
            state = self.changed.wait(state, Some(left));
            if is_idle && !state.pools.is_empty() {
                begun = time::now();
            }
        }
        state.runs = !state.pools.is_empty();
        if state.runs { Some(state) } else { None }
    }
}
