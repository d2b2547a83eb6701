//! What a thread did, and when.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

use brigade_machine::ThreadInfo;

/// How many events of each thread a trace keeps: some 8 MB.
const LIMIT: usize = 1 << 17;

/// What a thread does for some time, or at one moment.
#[derive(Clone, Debug)]
pub enum What {
    /// Runs a job, or polls a future.
    Job(Label),
    /// Is blocked, so that the pool may have another thread in its place.
    Blocked,
    /// Looks for a job.
    Search(Since),
    /// Sleeps, with this duty.
    Parked(&'static str, Since),
    /// Wakes a worker.
    Wake {
        /// The index of that worker.
        worker: usize,
        /// The number of the wake-up.
        number: u64,
        /// The thread, if it is not one of the pool's.
        by: Option<Arc<ThreadInfo>>,
    },
    /// Has taken jobs or forks from another worker; none of them runs yet.
    Stolen {
        /// The index of that worker.
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
    /// Begins as a worker that was started as this.
    Starts(&'static str),
    /// Is no longer a worker.
    Ends,
}

/// What a worker did before it began to search, or to sleep.
#[derive(Clone, Copy, Debug)]
pub enum Since {
    /// It ran.
    Running,
    /// It slept, until it was woken by the wake-up with this number, or saw something to do itself: 0.
    Parked(u64),
}

/// What a job is known by.
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

    /// Whether it ends what the worker did before, unless it is inside that.
    fn ends_others(&self) -> bool {
        matches!(self, Self::Job(_) | Self::Search(_) | Self::Parked(..) | Self::Starts(_))
    }
}

/// What a thread did, in nanoseconds since the pool was made.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) what: What,
    /// Whether it began inside a job that waited: a job that runs there is part of that one.
    pub(crate) is_inside: bool,
}

impl Event {
    /// Whether it ends what the worker did before.
    pub(crate) fn is_outermost(&self) -> bool {
        !self.is_inside && self.what.ends_others()
    }
}

/// The newest events of one thread.
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
