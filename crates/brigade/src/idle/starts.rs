//! The workers that have not looked for work yet, and the indices that workers have.

use brigade_sync::thread::ThreadId;

/// The most workers a pool can have, blocked ones and their replacements included. A worker that has left counts until its
/// last hook has returned.
pub(crate) const PLACES: usize = 8192;

/// A worker that has not looked for work yet.
struct Start {
    index: usize,
    /// The thread that starts its thread, until it is known that there is one.
    starter: Option<ThreadId>,
    /// Whether its thread runs: it may be in the user's start hook.
    has_thread: bool,
}

/// Such workers.
#[derive(Default)]
pub(super) struct Starts(Vec<Start>);

impl Starts {
    /// A worker in this place, whose thread `starter` is about to start.
    pub(super) fn add(&mut self, index: usize, starter: ThreadId) {
        self.0.push(Start { index, starter: Some(starter), has_thread: false });
    }

    /// Counts them.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Counts those whose thread does not run yet: they look for work once it does.
    pub(super) fn coming(&self) -> usize {
        self.0.iter().filter(|start| !start.has_thread).count()
    }

    /// Counts those whose thread may not come to be, as a start may fail.
    pub(super) fn doubtful(&self) -> usize {
        self.0.iter().filter(|start| start.starter.is_some()).count()
    }

    /// Whether this thread is about to start one: it is in the user's spawner or name function.
    pub(super) fn has_starter(&self, thread: ThreadId) -> bool {
        self.0.iter().any(|start| start.starter == Some(thread))
    }

    /// The thread of the worker in this place exists, as `starter` says, which has started it.
    pub(super) fn confirm(&mut self, index: usize, starter: ThreadId) {
        // The starter too: the thread may have come and gone, and its place be another's by now.
        let is_it = |start: &&mut Start| start.index == index && start.starter == Some(starter);
        if let Some(start) = self.0.iter_mut().find(is_it) {
            start.starter = None;
        }
    }

    /// The thread of the worker in this place runs.
    pub(super) fn arrive(&mut self, index: usize) {
        if let Some(start) = self.0.iter_mut().find(|start| start.index == index) {
            start.starter = None;
            start.has_thread = true;
        }
    }

    /// The worker in this place is about to look for work, or never will.
    pub(super) fn remove(&mut self, index: usize) {
        self.0.retain(|start| start.index != index);
    }
}

/// The indices of workers, those that were given back first.
#[derive(Default)]
pub(super) struct Indices {
    vacant: Vec<usize>,
    /// How many were ever given out.
    used: usize,
}

impl Indices {
    pub(super) fn is_empty(&self) -> bool {
        self.vacant.is_empty() && self.used == PLACES
    }

    /// Takes one; there must be one.
    pub(super) fn take(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }

    pub(super) fn give_back(&mut self, index: usize) {
        self.vacant.push(index);
    }
}
