//! The actions of a thread, with their times.

use std::collections::VecDeque;

use crate::what::What;

/// How many events of each thread a trace keeps: some 8 MB.
const LIMIT: usize = 1 << 17;

/// An action of a thread, in nanoseconds since the pool was made.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) what: What,
    /// Whether it began inside a waiting job: a job that runs there is part of the waiting job.
    pub(crate) is_inside: bool,
}

impl Event {
    /// Whether it ends as soon as the thread does anything else at the same depth.
    pub(crate) fn is_state(&self) -> bool {
        matches!(self.what, What::Search(_) | What::Parked { .. })
    }

    /// Whether it ends the worker's former action.
    pub(crate) fn is_outermost(&self) -> bool {
        let ends_others = self.is_state() || matches!(self.what, What::Job(_) | What::Starts(_));
        !self.is_inside && ends_others
    }
}

/// The newest events of a thread.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) kept: VecDeque<Event>,
    pub(crate) lost: u64,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if self.kept.len() == LIMIT {
            self.kept.pop_front();
            self.lost += 1;
        }
        self.kept.push_back(event);
    }
}
