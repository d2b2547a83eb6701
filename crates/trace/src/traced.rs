//! A finished trace.

use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use brigade_observe::ThreadInfo;

use crate::event::{Event, Events};
use crate::what::{GUESTS, Label, Since, What, title_of};

/// The record of the actions of a pool's threads over some time; returned by `Tracing::finish` of brigade.
///
/// [`save`](Self::save) writes it for a viewer. [`Display`](fmt::Display) writes the length and the size on a line.
#[must_use = "a trace does nothing unless it is saved or written"]
pub struct Trace {
    pub(crate) pool: Arc<str>,
    pub(crate) lasted: u64,
    pub(crate) threads: Vec<Traced>,
}

/// The reason why a pool can't be traced.
///
/// `?` turns it into an [`io::Error`]: of the kind [`ResourceBusy`](io::ErrorKind::ResourceBusy) for
/// [`InProgress`](Self::InProgress), [`Unsupported`](io::ErrorKind::Unsupported) for [`Forked`](Self::Forked), else
/// [`Other`](io::ErrorKind::Other).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// Another trace of the pool has not been finished.
    InProgress,
    /// The pool has ended.
    Ended,
    /// The pool belongs to the parent of a fork: the threads do not exist in this process.
    Forked,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProgress => {
                "another trace of the pool is in progress; wait for it, or finish it, and try again"
            }
            Self::Ended => "the pool has ended; trace it before it is dropped",
            Self::Forked => {
                "the pool's threads are in the process that this one was forked from; trace it there"
            }
        })
    }
}

impl std::error::Error for TraceError {}

impl From<TraceError> for io::Error {
    fn from(error: TraceError) -> Self {
        let kind = match error {
            TraceError::InProgress => io::ErrorKind::ResourceBusy,
            TraceError::Forked => io::ErrorKind::Unsupported,
            TraceError::Ended => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// The action of a worker when the trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// There was none.
    Absent,
    /// It was parked.
    Parked,
    /// It did anything else.
    Running,
}

/// The actions of a thread, in nanoseconds.
pub struct Traced {
    /// The worker's index; `None` for a foreign thread.
    pub(crate) worker: Option<usize>,
    pub(crate) title: String,
    pub(crate) events: Vec<Event>,
    /// The thread's action before the first event.
    pub(crate) before: Option<Before>,
    pub(crate) lost: u64,
}

/// The action of a worker before the first event.
pub(crate) struct Before {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) what: What,
    /// Why it is not known better.
    pub(crate) why: &'static str,
}

fn title(what: &str, thread: Option<&ThreadInfo>) -> String {
    match thread.and_then(|thread| thread.name.as_deref()) {
        Some(name) => format!("{what} ({name})"),
        None => what.to_owned(),
    }
}

impl Traced {
    /// The record of a worker; `None` if there was none.
    pub(crate) fn of_worker(
        index: usize,
        thread: Option<Arc<ThreadInfo>>,
        Events { kept, lost }: Events,
        (from, until): (u64, u64),
        now: Now,
        runs: Option<(Label, u64)>,
    ) -> Option<Self> {
        if kept.is_empty() && now == Now::Absent {
            return None;
        }
        let (what, number) = title_of(index);
        let title = title(&format!("{what} {number}"), thread.as_deref());
        let mut events: Vec<Event> = kept.into();
        events.sort_by_key(|event| (event.from, core::cmp::Reverse(event.until)));
        // No slice may begin before that time and end after it, as slices nest.
        let mut around = from;
        let first = events.iter().find(|event| {
            let is_free = event.from >= around;
            around = around.max(event.until);
            is_free && event.is_outermost()
        });
        let known_from = first.map_or(until, |event| event.from);
        let running = || What::Job(runs.filter(|&(_, since)| since <= from).unwrap_or_default().0);
        let parked = What::Parked { holds_driver: false, since: Since::Parked };
        let before = match first.map(|event| &event.what) {
            _ if lost > 0 => Some((What::Job(Label::default()), "lost")),
            Some(What::Starts(_)) => None,
            // A guest comes and goes.
            _ if index >= GUESTS => None,
            Some(
                What::Search(Since::Parked | Since::Woken(_))
                | What::Parked { since: Since::Parked, .. },
            ) => Some((parked, "")),
            None if now == Now::Parked => Some((parked, "")),
            // A retired worker.
            None if now == Now::Absent => None,
            Some(_) => Some((What::Job(Label::default()), "began before the trace")),
            None => Some((running(), "began before the trace")),
        };
        let before = before.filter(|_| known_from > from);
        let before = before.map(|(what, why)| Before { from, until: known_from, what, why });
        Some(Self { worker: Some(index), title, events, before, lost })
    }

    /// The record of a foreign thread.
    pub(crate) fn of_thread(thread: &ThreadInfo, events: Vec<Event>) -> Self {
        let title = title("thread", Some(thread));
        Self { worker: None, title, events, before: None, lost: 0 }
    }

    /// The events lost from foreign threads.
    pub(crate) fn of_others(lost: u64) -> Self {
        let title = "threads".to_owned();
        Self { worker: None, title, events: Vec::new(), before: None, lost }
    }

    /// Counts all times from the begin of the trace, cuts off events outside of it, and puts a nested event after the outer event.
    pub(crate) fn cut(&mut self, begin: u64, end: u64) {
        let cut = |time: &mut u64| *time = (*time).clamp(begin, end) - begin;
        for Event { from, until, .. } in &mut self.events {
            cut(from);
            cut(until);
        }
        if let Some(Before { from, until, .. }) = &mut self.before {
            cut(from);
            cut(until);
        }
        self.events.sort_by_key(|event| (event.from, core::cmp::Reverse(event.until)));
    }
}

impl Trace {
    /// The trace of the pool with this name, as [taken](crate::Tracer::take).
    pub fn new(pool: Arc<str>, lasted: u64, threads: Vec<Traced>) -> Self {
        Self { pool, lasted, threads }
    }

    /// Returns how long the pool was traced.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.lasted)
    }

    /// Returns the number of recorded events: jobs, polls, searches, sleeps, steals, wake-ups and others.
    pub fn recorded(&self) -> u64 {
        self.threads.iter().map(|thread| thread.events.len() as u64).sum()
    }

    /// Returns the number of events dropped to make room for newer events.
    pub fn lost(&self) -> u64 {
        self.threads.iter().map(|thread| thread.lost).sum()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pool, lasted) = (&self.pool, self.duration());
        let (recorded, lost, threads) = (self.recorded(), self.lost(), self.threads.len());
        write!(f, "pool {pool}, {lasted:.1?}: {recorded} events of {threads} threads, {lost} lost")
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({self})")
    }
}
