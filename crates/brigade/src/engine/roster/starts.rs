//! The workers that are being started, and the indices of all workers.

use brigade_sync::thread::{self, ThreadId};

use crate::values::Role;

/// The most workers of a pool, including blocked workers and their replacements. A leaving worker counts
/// until its last hook has returned.
pub(crate) const PLACES: usize = 8192;

/// The indices of guests begin here; those of workers are lower.
pub(in crate::engine) const GUESTS: usize = PLACES;

// So a trace names them.
#[cfg(feature = "trace")]
const _: () = assert!(GUESTS == brigade_trace::GUESTS);

/// A worker that has not looked for work yet.
pub(in crate::engine) struct Start {
    index: usize,
    /// The thread that starts this worker's thread, until the new thread is known to exist.
    starter: Option<ThreadId>,
    /// Whether the worker calls the user's start hook, which may take long.
    is_in_hook: bool,
    role: Role,
}

/// The workers that have not looked for work yet.
#[derive(Default)]
pub(crate) struct Starts {
    pub(in crate::engine) list: Vec<Start>,
    /// How many spawners have not returned.
    pub(in crate::engine) spawning: usize,
    /// Whether a start has failed since the last new thread ran.
    pub(crate) has_failed: bool,
    /// How many threads have been lost since then.
    lost: u32,
}

impl Starts {
    /// Adds the worker with this index, whose thread the calling thread is about to start.
    pub(in crate::engine) fn add(&mut self, index: usize, role: Role) {
        self.spawning += 1;
        let starter = Some(thread::current_id());
        self.list.push(Start { index, starter, is_in_hook: false, role });
    }

    /// The number of workers about to look for work.
    pub(in crate::engine) fn coming(&self) -> usize {
        self.count(|start| !start.is_in_hook)
    }

    /// The number of workers whose thread may never exist, because the start may fail.
    pub(in crate::engine) fn doubtful(&self) -> usize {
        self.count(|start| start.starter.is_some())
    }

    fn count(&self, counts: fn(&Start) -> bool) -> usize {
        let mut count = 0;
        for start in &self.list {
            count += usize::from(counts(start));
        }
        count
    }

    /// Whether the calling thread is about to start a worker: it is in the user's spawner or name function.
    pub(crate) fn has_starter(&self) -> bool {
        let caller = thread::current_id();
        self.list.iter().any(|start| start.starter == Some(caller))
    }

    /// Notes that the calling thread has called the spawner for the worker with this index. If `is_started`, the
    /// worker's thread exists; otherwise the worker has been removed.
    pub(in crate::engine) fn returned(&mut self, index: usize, is_started: bool) {
        self.spawning -= 1;
        self.has_failed |= !is_started;
        let starter = thread::current_id();
        // Compares the starter too: the worker may have left already, and a new worker may have its index.
        let is_it = |start: &&mut Start| start.index == index && start.starter == Some(starter);
        if let Some(start) = self.list.iter_mut().find(is_it) {
            start.starter = None;
        }
    }

    /// Notes that the thread of the worker with this index runs, and whether it calls a hook first; returns the
    /// worker's role.
    pub(in crate::engine) fn arrive(&mut self, index: usize, calls_hook: bool) -> Role {
        let Some(start) = self.list.iter_mut().find(|start| start.index == index) else {
            return Role::default();
        };
        (self.has_failed, self.lost) = (false, 0);
        start.starter = None;
        start.is_in_hook = calls_hook;
        start.role
    }

    /// Notes that a thread has been lost after its start; returns how many were lost before, since the last new thread ran.
    pub(crate) fn lose(&mut self) -> u32 {
        self.has_failed = true;
        self.lost = self.lost.saturating_add(1);
        self.lost - 1
    }

    /// Removes the worker with this index: it is about to look for work, or never will.
    pub(crate) fn remove(&mut self, index: usize) {
        self.list.retain(|start| start.index != index);
    }
}

/// The indices of workers; released indices are reused first.
#[derive(Default)]
pub(crate) struct Indices {
    vacant: Vec<usize>,
    /// The indices of the present workers, in order. A leaving worker is not present, but keeps its index until its
    /// last hook has returned.
    pub(in crate::engine) present: Vec<usize>,
    /// How many indices have ever been in use.
    used: usize,
}

impl Indices {
    pub(in crate::engine) fn are_used_up(&self) -> bool {
        self.in_use() == PLACES
    }

    /// The number of workers with an index, present or leaving.
    pub(crate) fn in_use(&self) -> usize {
        self.used - self.vacant.len()
    }

    /// Takes an index, which must be available.
    pub(in crate::engine) fn take(&mut self) -> usize {
        let index = self.take_absent();
        let place = self.present.partition_point(|&other| other < index);
        self.present.insert(place, index);
        index
    }

    /// Takes an index, which must be available, for a worker that is not present.
    pub(in crate::engine) fn take_absent(&mut self) -> usize {
        self.used += usize::from(self.vacant.is_empty());
        self.vacant.pop().unwrap_or(self.used - 1)
    }

    /// Notes that the worker with this index leaves.
    pub(in crate::engine) fn leave(&mut self, index: usize) {
        if let Ok(place) = self.present.binary_search(&index) {
            self.present.remove(place);
        }
    }

    /// Releases an index.
    pub(in crate::engine) fn give_back(&mut self, index: usize) {
        // A worker of a terminated pool has not left before.
        self.leave(index);
        self.release(index);
    }

    /// Releases the index of a worker that is not present.
    pub(in crate::engine) fn release(&mut self, index: usize) {
        self.vacant.push(index);
    }
}
