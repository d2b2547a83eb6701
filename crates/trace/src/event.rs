//! The actions of a thread, and their times.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

use brigade_machine::ThreadInfo;

/// How many events of each thread a trace keeps: some 8 MB.
const LIMIT: usize = 1 << 17;

/// The action of a thread, for some time or at a moment.
#[derive(Clone, Debug)]
pub enum What {
    /// Runs a job, or polls a future.
    Job(Label),
    /// Is blocked; the pool may have another thread in its place.
    Blocked,
    /// Looks for a job.
    Search(Since),
    /// Sleeps, with this duty.
    Parked(&'static str, Since),
    /// Wakes a worker.
    Wake {
        /// The index of the worker.
        worker: usize,
        /// The number of the wake-up.
        number: u64,
        /// The thread, if it is foreign.
        by: Option<Arc<ThreadInfo>>,
    },
    /// Has taken jobs or forks from another worker; none of them runs yet.
    Stolen {
        /// The index of the worker.
        from: usize,
        /// How many.
        jobs: usize,
        /// Whether these are forks.
        are_forks: bool,
    },
    /// Has taken jobs from the shared queue.
    Taken(usize),
    /// Has fired timers.
    Timers(usize),
    /// Has polled I/O and found events.
    Events(usize),
    /// Begins as a worker in this role.
    Starts(&'static str),
    /// Is no longer a worker.
    Ends,
}

/// The action of a worker before it began to search, or to sleep.
#[derive(Clone, Copy, Debug)]
pub enum Since {
    /// It ran.
    Running,
    /// It slept, until it was woken by the wake-up with this number, or saw something to do itself: 0.
    Parked(u64),
}

/// The identity of a job.
#[derive(Clone, Debug, Default)]
pub struct Label {
    pub(crate) name: Option<Cow<'static, str>>,
    pub(crate) place: Option<&'static Location<'static>>,
}

impl What {
    /// Whether it ends as soon as the thread does anything else at the same depth.
    pub(crate) fn is_state(&self) -> bool {
        matches!(self, Self::Search(_) | Self::Parked(..))
    }

    /// Whether it ends the worker's former action, unless nested in it.
    fn ends_others(&self) -> bool {
        matches!(self, Self::Job(_) | Self::Search(_) | Self::Parked(..) | Self::Starts(_))
    }
}

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
    /// Whether it ends the worker's former action.
    pub(crate) fn is_outermost(&self) -> bool {
        !self.is_inside && self.what.ends_others()
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

impl Label {
    /// The label of a job with this name, which was submitted there.
    pub fn new(
        name: Option<&Cow<'static, str>>,
        place: Option<&'static Location<'static>>,
    ) -> Self {
        Self { name: name.cloned(), place }
    }
}
