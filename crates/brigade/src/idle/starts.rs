//! The workers that have not looked for work yet, and the indices that workers have.

use brigade_sync::thread::ThreadId;

use crate::role::Role;

/// The most workers that a pool can have, including blocked ones and their replacements. A worker that has left counts until
/// its last hook has returned.
pub(crate) const PLACES: usize = 8192;

/// A worker that has not looked for work yet.
struct Start {
    index: usize,
    /// The thread that starts its thread, until that is known to exist.
    starter: Option<ThreadId>,
    /// Whether its thread runs: it may be in the user's start hook.
    has_thread: bool,
    role: Role,
}

/// The workers that have not looked for work yet.
#[derive(Default)]
pub(super) struct Starts(Vec<Start>);

impl Starts {
    /// Adds the worker with this index, whose thread `starter` is about to start.
    pub(super) fn add(&mut self, index: usize, starter: ThreadId, role: Role) {
        self.0.push(Start { index, starter: Some(starter), has_thread: false, role });
    }

    /// The number of these workers.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of workers whose thread does not run yet; they look for work once it does.
    pub(super) fn coming(&self) -> usize {
        self.0.iter().filter(|start| !start.has_thread).count()
    }

    /// The number of workers whose thread may never exist, as the start may fail.
    pub(super) fn doubtful(&self) -> usize {
        self.0.iter().filter(|start| start.starter.is_some()).count()
    }

    /// Whether this thread is about to start a worker: it is in the user's spawner or name function.
    pub(super) fn has_starter(&self, thread: ThreadId) -> bool {
        self.0.iter().any(|start| start.starter == Some(thread))
    }

    /// Notes that the thread of the worker with this index exists, as reported by `starter`, which has started it.
    pub(super) fn confirm(&mut self, index: usize, starter: ThreadId) {
        // Compares the starter too: the worker may have left already, and another one may have its index.
        let is_it = |start: &&mut Start| start.index == index && start.starter == Some(starter);
        if let Some(start) = self.0.iter_mut().find(is_it) {
            start.starter = None;
        }
    }

    /// Notes that the thread of the worker with this index runs; returns what it was started as.
    pub(super) fn arrive(&mut self, index: usize) -> Role {
        let Some(start) = self.0.iter_mut().find(|start| start.index == index) else {
            return Role::default();
        };
        start.starter = None;
        start.has_thread = true;
        start.role
    }

    /// Removes the worker with this index: it is about to look for work, or never will.
    pub(super) fn remove(&mut self, index: usize) {
        self.0.retain(|start| start.index != index);
    }
}

/// The indices of workers; released ones are reused first.
#[derive(Default)]
pub(super) struct Indices {
    vacant: Vec<usize>,
    /// The indices of the workers that there are, in order. A worker that leaves is not one of them, but keeps its index until
    /// its last hook has returned.
    present: Vec<usize>,
    /// How many indices have ever been in use.
    used: usize,
}

impl Indices {
    pub(super) fn is_empty(&self) -> bool {
        self.vacant.is_empty() && self.used == PLACES
    }

    /// Takes an index; one must be available.
    pub(super) fn take(&mut self) -> usize {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        let place = self.present.partition_point(|&other| other < index);
        self.present.insert(place, index);
        index
    }

    /// The indices of the workers that there are, in order.
    pub(super) fn present(&self) -> &[usize] {
        &self.present
    }

    /// Notes that the worker with this index leaves.
    pub(super) fn leave(&mut self, index: usize) {
        if let Ok(place) = self.present.binary_search(&index) {
            self.present.remove(place);
        }
    }

    /// Releases an index.
    pub(super) fn give_back(&mut self, index: usize) {
        // A worker of a pool that has terminated has not left before.
        self.leave(index);
        self.vacant.push(index);
    }
}
