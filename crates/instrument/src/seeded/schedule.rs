//! Which thread of a run goes on.

use shuttle::scheduler::{Schedule as Steps, Scheduler, Task, TaskId};
use std::collections::BTreeMap;
use std::vec::Vec;

use super::{clock, watchdog};

/// How a scheduler chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// At random, but the same thread goes on with this probability, in per cent.
    Random {
        /// 0 to 99.
        stays: u8,
    },
    /// By random priorities. The priority of the running thread becomes the lowest at this many random steps among so
    /// many: *PCT*, S. Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs" (2010).
    Pct {
        /// How often.
        changes: u8,
        /// Among how many steps.
        steps: u32,
    },
}

impl Policy {
    /// The policy of a seed.
    pub fn of(seed: u64) -> Self {
        match seed % 6 {
            0 => Self::Random { stays: 0 },
            1 => Self::Random { stays: 50 },
            2 => Self::Random { stays: 90 },
            3 => Self::Pct { changes: 2, steps: 2_000 },
            4 => Self::Pct { changes: 5, steps: 2_000 },
            _ => Self::Pct { changes: 10, steps: 5_000 },
        }
    }
}

/// Of this many steps, the clock takes one although others can go on.
const CLOCK: u32 = 64;
/// A thread that has yielded in so many of its last steps spins.
const SPINS: u32 = 6;
/// 1 in this many steps ends a wait for no reason.
const SPURIOUS: u32 = 1024;

/// By priorities, the running thread becomes the last each time after so many steps, and another thread has a new priority: the running
/// thread may wait for it, or new threads may keep it from running.
const LONG: u32 = 10_000;

/// The scheduler of a run.
#[derive(Debug)]
pub(super) struct Schedule {
    seed: u64,
    random: fastrand::Rng,
    policy: Policy,
    /// Whether the run has begun.
    has_begun: bool,
    steps: u32,
    changes: Vec<u32>,
    priorities: BTreeMap<TaskId, i64>,
    /// How many steps a thread has taken since it yielded last.
    since_yield: BTreeMap<TaskId, u32>,
    lowest: i64,
}

impl Schedule {
    pub(super) fn new(seed: u64) -> Self {
        let policy = Policy::of(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let changes = match policy {
            Policy::Random { .. } => Vec::new(),
            Policy::Pct { changes, steps } => (0..changes).map(|_| random.u32(..steps)).collect(),
        };
        Self {
            seed,
            random,
            policy,
            has_begun: false,
            steps: 0,
            changes,
            priorities: BTreeMap::new(),
            since_yield: BTreeMap::new(),
            lowest: 0,
        }
    }

    fn one_in(&mut self, of: u32) -> bool {
        self.random.u32(0..of) == 0
    }

    /// Chooses among the threads that can go on, of which the clock is one, and at times among the blocked ones.
    fn next(
        &mut self,
        tasks: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let is_clock = |task: &&Task| usize::from(task.id()) == clock::THREAD;
        let clock = tasks
            .iter()
            .copied()
            .find(is_clock)
            .filter(|task| task.runnable())
            .map(|task| task.id());
        let (ready, blocked): (Vec<&Task>, Vec<&Task>) =
            tasks.iter().copied().filter(|task| !is_clock(task)).partition(|task| task.runnable());
        let ids = |tasks: Vec<&Task>| tasks.into_iter().map(Task::id).collect::<Vec<_>>();
        let (ready, blocked) = (ids(ready), ids(blocked));
        if let Some(current) = current {
            let steps = self.since_yield.entry(current).or_insert(u32::MAX);
            *steps = if is_yielding { 0 } else { steps.saturating_add(1) };
        }
        // If all threads spin, they may wait for a time.
        let spins = |task| self.since_yield.get(task).is_some_and(|steps| *steps < SPINS);
        let chance = if ready.iter().all(spins) { 2 } else { CLOCK };
        if ready.is_empty() || self.one_in(chance) {
            if let Some(clock) = clock.filter(|_| clock::may_leap(ready.is_empty())) {
                return Some(clock);
            }
        }
        if self.one_in(SPURIOUS) {
            if let Some(blocked) = self.random.choice(blocked) {
                return Some(blocked);
            }
        }
        (!ready.is_empty()).then(|| self.choose(&ready, current, is_yielding))
    }

    fn choose(&mut self, ready: &[TaskId], current: Option<TaskId>, is_yielding: bool) -> TaskId {
        match self.policy {
            Policy::Random { stays } => {
                let stays = !is_yielding && self.random.u8(0..100) < stays;
                let same = current.filter(|current| stays && ready.contains(current));
                same.unwrap_or_else(|| ready[self.random.usize(..ready.len())])
            }
            Policy::Pct { .. } => {
                for &task in ready {
                    self.priorities.entry(task).or_insert_with(|| self.random.i64(0..));
                }
                self.steps += 1;
                let is_long = self.steps % LONG == 0;
                let falls = is_yielding || is_long || self.changes.contains(&self.steps);
                if let Some(falling) = current.filter(|_| falls) {
                    self.lowest -= 1;
                    self.priorities.insert(falling, self.lowest);
                }
                if is_long {
                    let rising = ready[self.random.usize(..ready.len())];
                    self.priorities.insert(rising, self.random.i64(0..));
                }
                *ready.iter().max_by_key(|task| self.priorities[task]).unwrap_or(&ready[0])
            }
        }
    }
}

impl Scheduler for Schedule {
    fn new_execution(&mut self) -> Option<Steps> {
        (!core::mem::replace(&mut self.has_begun, true)).then(|| Steps::new(self.seed))
    }

    fn next_task(
        &mut self,
        tasks: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let next = self.next(tasks, current, is_yielding);
        watchdog::goes_on(next);
        next
    }

    fn next_u64(&mut self) -> u64 {
        self.random.u64(..)
    }
}
