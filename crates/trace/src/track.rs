//! The actions of a thread in a traced pool. `README.md` beside this file has the design.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use brigade_observe::{Record, Stretch, ThreadInfo};
use brigade_sync::atomic::Ordering;
use brigade_sync::fork;
use brigade_sync::time;
use brigade_sync::unmodelled::{AtomicU64, Mutex};

use crate::event::{Event, Events};
use crate::traced::{Now, TraceError, Traced};
use crate::what::{Label, Since, What};

/// The actions of a worker, or of all foreign threads. Only they write, until a trace ends.
#[derive(Default)]
pub struct Track {
    state: Mutex<State>,
    /// The number of the wake-up to be seen next by the worker, or 0.
    woken_by: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The trace it belongs to.
    session: u64,
    /// `None` if there were several.
    thread: Option<Arc<ThreadInfo>>,
    /// The unfinished events.
    open: Vec<Event>,
    events: Events,
}

impl State {
    /// Ends the unfinished events at this depth or inside.
    fn close(&mut self, depth: usize, until: u64) {
        while self.open.len() > depth {
            let Some(open) = self.open.pop() else { return };
            self.events.push(Event { until, ..open });
        }
    }

    /// Ends the present state of the thread.
    fn close_state(&mut self, until: u64) {
        let depth = self.open.len();
        if self.open.last().is_some_and(Event::is_state) {
            self.close(depth - 1, until);
        }
    }
}

/// The traces of a pool.
pub struct Tracer {
    /// The process of the pool.
    process: u32,
    /// The origin of the times of events.
    origin: Instant,
    /// The current trace, or 0. A thread reads it with the lock of its track, and the trace ends before it takes these locks: so
    /// an event is either taken, or not recorded.
    session: AtomicU64,
    /// The last trace begun, and whether it still has to be taken.
    last: Mutex<(u64, bool)>,
    /// The number of the last wake-up.
    wakes: AtomicU64,
    /// The actions of foreign threads, which wake workers. There may be any number of these threads, so they share a limit.
    outside: Track,
}

/// A begun trace.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    number: u64,
    from: u64,
}

/// The data for a trace about a worker, which may have recorded nothing.
pub struct Worker<'a> {
    /// The index of the worker.
    pub index: usize,
    /// The events it has recorded.
    pub track: &'a Track,
    /// The running jobs, if the pool is observed.
    pub record: &'a Record,
    /// Its action when the trace ended.
    pub now: Now,
}

/// The traces of a pool of this process.
impl Default for Tracer {
    fn default() -> Self {
        Self {
            process: fork::generation(),
            origin: time::now(),
            session: AtomicU64::new(0),
            last: Mutex::default(),
            wakes: AtomicU64::new(0),
            outside: Track::default(),
        }
    }
}

impl Tracer {
    /// Whether this is the process of the pool, and not a child of it.
    pub fn is_here(&self) -> bool {
        self.process == fork::generation()
    }

    fn now(&self) -> u64 {
        self.since_origin(time::now())
    }

    fn since_origin(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Begins a trace. The caller then has threads look for it.
    ///
    /// # Errors
    /// If there is another trace.
    pub fn begin(&self) -> Result<Session, TraceError> {
        let mut last = self.last.lock();
        if last.1 {
            return Err(TraceError::InProgress);
        }
        *last = (last.0 + 1, true);
        let session = Session { number: last.0, from: self.now() };
        // Ordering: Relaxed, here and below: see the field.
        self.session.store(session.number, Ordering::Relaxed);
        Ok(session)
    }

    /// Stops the trace; returns when. All tracks with a record can be found after it.
    pub fn stop(&self) -> u64 {
        let _last = self.last.lock();
        self.session.store(0, Ordering::Relaxed);
        self.now()
    }

    /// Takes a trace stopped at `until`; returns how long it has lasted, in nanoseconds, and the records.
    pub fn take<'a>(
        &self,
        session: Session,
        until: u64,
        workers: impl Iterator<Item = Worker<'a>>,
    ) -> (u64, Vec<Traced>) {
        let take = |track: &Track| {
            let mut taken = core::mem::take(&mut *track.state.lock());
            if taken.session != session.number {
                taken = State::default();
            }
            // The unfinished events too.
            taken.close(0, until);
            taken
        };
        let mut all = Vec::new();
        for Worker { index, track, record, now } in workers {
            let State { thread, events, .. } = take(track);
            let runs = record.running().into_iter().next().map(|Stretch { job, since, .. }| {
                let (name, place) = (job.label.name.clone(), Some(job.label.place));
                (Label { name, place }, self.since_origin(since))
            });
            all.extend(Traced::of_worker(index, thread, events, (session.from, until), now, runs));
        }
        let Events { kept, lost } = take(&self.outside).events;
        let mut threads: Vec<(Arc<ThreadInfo>, Vec<Event>)> = Vec::new();
        let mut indices = HashMap::new();
        for event in kept {
            let What::Wake { by: Some(thread), .. } = &event.what else { continue };
            let index = *indices.entry(Arc::as_ptr(thread)).or_insert(threads.len());
            if index == threads.len() {
                threads.push((thread.clone(), Vec::new()));
            }
            threads[index].1.push(event);
        }
        let traced = threads.into_iter();
        all.extend(traced.map(|(thread, events)| Traced::of_thread(&thread, events)));
        if lost > 0 {
            all.push(Traced::of_others(lost));
        }
        all.iter_mut().for_each(|traced| traced.cut(session.from, until));
        self.last.lock().1 = false;
        (until - session.from, all)
    }

    /// Returns a pen for the calling thread, which runs the worker of this track. `is_inside`: its
    /// actions from now on are nested in a waiting job.
    pub fn pen<'a>(&'a self, track: &'a Track, is_inside: bool) -> Pen<'a> {
        Pen { tracer: self, track, is_inside }
    }

    /// Wakes a worker, and records it; a waker without a track is a foreign thread.
    pub fn record_wake(
        &self,
        waker: Option<&Track>,
        woken: &Track,
        worker: usize,
        wake: impl FnOnce(),
    ) {
        let number = self.wakes.fetch_add(1, Ordering::Relaxed) + 1;
        // Ordering: Relaxed: the token that `wake` sets publishes it.
        woken.woken_by.store(number, Ordering::Relaxed);
        let from = self.now();
        wake();
        // Before the lock: it may read files.
        let by = waker.is_none().then(ThreadInfo::current);
        let what = What::Wake { worker, number, by };
        let pen = self.pen(waker.unwrap_or(&self.outside), false);
        pen.record(|state, until| state.events.push(Event { until, ..pen.event(from, what) }));
    }
}

/// Records the actions of a thread.
#[derive(Clone, Copy)]
pub struct Pen<'a> {
    tracer: &'a Tracer,
    track: &'a Track,
    /// Whether the next action is nested in a waiting job.
    is_inside: bool,
}

/// An action of a thread, until this is dropped.
pub struct Scope<'a> {
    pen: Pen<'a>,
    session: u64,
    depth: usize,
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        let Self { pen, session, depth } = *self;
        pen.record(|state, until| {
            if state.session == session {
                state.close(depth, until);
            }
        });
    }
}

impl Scope<'_> {
    /// Removes the scope without recording it.
    pub fn discard(self) {
        let Self { pen, session, depth } = self;
        pen.record(|state, _| {
            if state.session == session {
                state.open.truncate(depth);
            }
        });
        core::mem::forget(self);
    }
}

impl<'a> Pen<'a> {
    /// Calls a closure with the state of the track and the time, if there is a trace.
    fn record<R>(self, record: impl FnOnce(&mut State, u64) -> R) -> Option<R> {
        let Self { tracer, track, .. } = self;
        // In a forked child, locks may be held forever.
        if !tracer.is_here() {
            return None;
        }
        let mut state = track.state.lock();
        let session = tracer.session.load(Ordering::Relaxed);
        if session == 0 {
            return None;
        }
        if state.session != session {
            // The lock orders the opening of this track before the stop of the trace, or this read after it.
            let last = tracer.last.lock();
            if tracer.session.load(Ordering::Relaxed) != session {
                return None;
            }
            drop(last);
            let thread = Some(ThreadInfo::current());
            *state = State { session, thread, ..State::default() };
        }
        Some(record(&mut state, tracer.now()))
    }

    /// The thread does this until the returned value is dropped.
    pub fn begin(self, what: What) -> Option<Scope<'a>> {
        self.record(|state, from| {
            if matches!(what, What::Job(_)) {
                state.close_state(from);
            }
            let scope = Scope { pen: self, session: state.session, depth: state.open.len() };
            state.open.push(self.event(from, what));
            scope
        })
    }

    fn event(self, from: u64, what: What) -> Event {
        Event { from, until: from, what, is_inside: self.is_inside }
    }

    /// The innermost job is known by this.
    pub fn label(
        self,
        name: Option<&Cow<'static, str>>,
        place: Option<&'static Location<'static>>,
    ) {
        self.record(|state, _| {
            let innermost = state.open.iter_mut().rev().find_map(|open| match &mut open.what {
                What::Job(label) => Some(label),
                _ => None,
            });
            if let Some(label) = innermost {
                label.name = name.cloned().or(label.name.take());
                label.place = place.or(label.place);
            }
        });
    }

    /// The thread does this: from now on if it searches or sleeps, and else at this moment.
    #[cold]
    pub fn tell(self, mut what: What) {
        if let What::Search(Since::Woken(number)) = &mut what {
            // Ordering: Relaxed: the token, which was taken before, has published it.
            *number = self.track.woken_by.swap(0, Ordering::Relaxed);
        }
        let searches = |open: &Event| matches!(open.what, What::Search(_));
        self.record(|state, at| match what {
            What::Timers(0) | What::Events(0) => {}
            // A worker that was only about to sleep is still searching.
            What::Search(Since::Running | Since::Parked)
                if state.open.last().is_some_and(searches) => {}
            What::Search(_) | What::Parked { .. } => {
                state.close_state(at);
                state.open.push(self.event(at, what));
            }
            What::Resumes => state.close_state(at),
            _ => {
                if matches!(what, What::Ends) {
                    state.close(0, at);
                }
                state.events.push(self.event(at, what));
            }
        });
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::traced::Trace;

    /// What a trace keeps of a worker that tells this, and its text.
    fn kept(told: Vec<What>) -> (Vec<String>, String) {
        let (tracer, track, record) = (Tracer::default(), Track::default(), Record::default());
        let session = tracer.begin().unwrap();
        told.into_iter().for_each(|what| tracer.pen(&track, false).tell(what));
        let worker = Worker { index: 0, track: &track, record: &record, now: Now::Running };
        let (lasted, threads) = tracer.take(session, tracer.stop(), [worker].into_iter());
        let kept = threads[0].events.iter().map(|event| format!("{:?}", event.what)).collect();
        let mut text = Vec::new();
        Trace::new("".into(), lasted, threads).write_to(&mut text).unwrap();
        (kept, String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_search_goes_on_unless_the_worker_was_woken() {
        let search = What::Search;
        let (events, _) = kept(vec![search(Since::Running), search(Since::Parked)]);
        assert_eq!(events, ["Search(Running)"]);
        let (events, text) = kept(vec![search(Since::Running), search(Since::Woken(0))]);
        assert_eq!(events, ["Search(Running)", "Search(Woken(0))"]);
        assert!(text.contains("it was woken"), "though the trace has no wake-up: {text}");
    }

    #[test]
    fn the_end_of_a_search_is_no_event() {
        let (events, _) =
            kept(vec![What::Search(Since::Running), What::Resumes, What::Search(Since::Parked)]);
        assert_eq!(events, ["Search(Running)", "Search(Parked)"], "the first has ended");
        assert!(kept(vec![What::Timers(0), What::Events(0)]).0.is_empty());
    }
}
