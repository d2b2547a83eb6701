//! A closure that runs at given times.
//!
//! It is in one of three places: with the timers of its pool, on a queue of the pool, or with the worker that runs it. Timers
//! and queues hold the schedule and not the closure; the worker has taken it out. So in the first two cases a cancellation
//! finds it here and drops it at once. The next timer is set when a run has ended: runs never overlap.
//!
//! No user code runs under the lock. The engine is not called under it either, as that may start a thread.

use core::any::Any;
use core::time::Duration;
use std::borrow::Cow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use brigade_observe::{Watch, Watcher};
use brigade_sync::{Mutex, MutexGuard};
use brigade_task::{Job, Work, drop_contained};

use super::Missed;
use crate::engine::{Due, Entry, Key, TimerKey, label_job, now_in, reach};
use crate::submission::job_name;
use crate::values::Priority;

/// A user's closure, run once or many times.
pub(super) trait Action: Send + 'static {
    fn run(&mut self);
}

/// The name of a job, if it has one.
pub(super) type Name = Option<Cow<'static, str>>;

/// A closure that runs once and is then gone.
pub(super) struct Once<F>(pub(super) Option<F>, pub(super) Name);

impl<F: FnOnce() + Send + 'static> Action for Once<F> {
    fn run(&mut self) {
        let Self(closure, name) = self;
        label_job(name.as_ref(), None);
        closure.take().into_iter().for_each(|closure| job_name::set(name, closure));
    }
}

/// A closure that runs many times.
pub(super) struct Every<F>(pub(super) F, pub(super) Name);

impl<F: FnMut() + Send + 'static> Action for Every<F> {
    fn run(&mut self) {
        let Self(closure, name) = self;
        label_job(name.as_ref(), None);
        job_name::set(name, closure);
    }
}

/// When a closure must run again.
#[derive(Clone, Copy)]
pub(super) enum Again {
    Never,
    Every(Duration, Missed),
}

/// A closure, and the state of its runs.
pub(super) struct Schedule<A> {
    state: Mutex<State<A>>,
    again: Again,
    pool: Key,
    class: Priority,
    /// Watches each run, if the pool is observed.
    watcher: Option<Watcher>,
}

struct State<A> {
    /// The closure, except while it runs and once it is dropped.
    action: Option<A>,
    stage: Stage,
    /// When the next run is due, or when the run was due that is queued or running.
    at: Instant,
    /// The key of the next run's timer, if it is known yet.
    timer: Option<TimerKey>,
    /// How often it has become due.
    round: u64,
    /// Whether there must be no further run.
    is_cancelled: bool,
    /// Runs that have ended.
    ticks: u64,
    /// The message of the last panic.
    error: Option<String>,
}

/// Where the closure is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Here, until it is due.
    Waiting,
    /// Here, and a job that runs it is queued.
    Queued,
    /// With the worker that runs it, or about to be: too late to cancel this run.
    Running,
    /// With the thread that drops it.
    Ending,
    /// Dropped.
    Over,
}

/// What the handle of a schedule needs, whatever the closure's type is.
pub(super) trait Control: Send + Sync {
    fn cancel(&self) -> bool;
    fn last_error(&self) -> Option<String>;
    fn ticks(&self) -> u64;
    fn is_over(&self) -> bool;
}

impl<A: Action> Schedule<A> {
    /// Schedules a closure in a pool, for jobs of a class.
    ///
    /// # Errors
    /// Returns the closure if the pool does not accept it.
    pub(super) fn begin(
        pool: Key,
        class: Priority,
        at: Instant,
        again: Again,
        action: A,
        watcher: Option<Watcher>,
    ) -> Result<Arc<Self>, A> {
        let state = State {
            action: Some(action),
            stage: Stage::Waiting,
            at,
            timer: None,
            round: 0,
            is_cancelled: false,
            ticks: 0,
            error: None,
        };
        let schedule = Arc::new(Self { state: Mutex::new(state), again, pool, class, watcher });
        let Some(refused) = schedule.set_timer(at) else { return Ok(schedule) };
        let action = schedule.state.lock().action.take();
        // Only now: it would drop the closure.
        drop(refused);
        let Some(action) = action else { unreachable!("only a run takes it") };
        Err(action)
    }

    /// Sets the timer that makes a job of it; returns the entry if the pool does not accept it.
    fn set_timer(self: &Arc<Self>, at: Instant) -> Option<Entry> {
        let round = self.state.lock().round;
        let entry = Entry::run(self.clone());
        let set = reach(self.pool, |pool| match pool.core() {
            Some(core) => core.set_timer(at, entry),
            None => Err(entry),
        });
        let timer = match set {
            Ok(timer) => timer,
            Err(entry) => return Some(entry),
        };
        let mut state = self.state.lock();
        if state.round == round {
            if state.stage == Stage::Waiting {
                state.timer = Some(timer);
                return None;
            }
            // Cancelled in the meantime, by a thread that did not know the timer's key.
            drop(state);
            self.unset_timer(timer);
        }
        None
    }

    fn unset_timer(&self, timer: TimerKey) {
        drop(reach(self.pool, |pool| pool.core()?.remove_timer(timer)));
    }

    /// Sets the timer of the next run, for a closure that is here; if the pool rejects it, the schedule is over.
    fn go_on(self: &Arc<Self>, at: Instant) {
        drop(self.set_timer(at));
    }

    /// Ends it if the closure is here and no worker is about to run it; else returns the lock.
    fn end<'a>(&self, mut state: MutexGuard<'a, State<A>>) -> Result<(), MutexGuard<'a, State<A>>> {
        if !matches!(state.stage, Stage::Waiting | Stage::Queued) {
            return Err(state);
        }
        let is_queued = state.stage == Stage::Queued;
        state.stage = Stage::Ending;
        let (action, timer) = (state.action.take(), state.timer.take());
        drop(state);
        timer.into_iter().for_each(|timer| self.unset_timer(timer));
        self.end_with(action);
        if is_queued {
            reach(self.pool, |pool| pool.leaves_entry());
        }
        Ok(())
    }

    /// Drops the closure, and sets the stage afterwards.
    fn end_with(&self, action: Option<A>) {
        drop_contained(action);
        self.state.lock().stage = Stage::Over;
    }

    /// Runs the closure, after a successful [`claim`](Self::claim).
    ///
    /// # Panics
    /// If the closure does; the state is consistent then.
    fn run(self: Arc<Self>) {
        let Some(mut action) = self.state.lock().action.take() else {
            unreachable!("it has been claimed for this run")
        };
        let result = panic::catch_unwind(AssertUnwindSafe(|| action.run()));
        self.ran(action, result.as_ref().err().map(|payload| text(&**payload)));
        if let Err(payload) = result {
            // To the worker, which applies the pool's policy.
            panic::resume_unwind(payload);
        }
    }

    /// After a run: prepares the next one, or ends the schedule.
    fn ran(self: &Arc<Self>, action: A, error: Option<String>) {
        let mut state = self.state.lock();
        state.ticks += 1;
        if error.is_some() {
            state.error = error;
        }
        match self.again {
            Again::Every(period, missed) if !state.is_cancelled => {
                // On a worker of the pool: it is not looked up under the lock.
                let at = missed.next(state.at, period, now_in(self.pool));
                state.at = at;
                state.action = Some(action);
                state.stage = Stage::Waiting;
                drop(state);
                self.go_on(at);
            }
            _ => {
                state.stage = Stage::Ending;
                drop(state);
                self.end_with(Some(action));
            }
        }
    }

    /// Claims a run for the worker that takes its job from the queue; `false` if it has been cancelled.
    fn claim(&self) -> bool {
        let mut state = self.state.lock();
        let is_queued = state.stage == Stage::Queued;
        if is_queued {
            state.stage = Stage::Running;
        }
        is_queued
    }

    /// The job of a run has been dropped without having run. A periodic closure runs again all the same.
    fn skip(self: &Arc<Self>) {
        let Again::Every(period, missed) = self.again else { return self.abandon() };
        let now = now_in(self.pool);
        let mut state = self.state.lock();
        if state.stage == Stage::Queued {
            let at = missed.next(state.at, period, now);
            state.at = at;
            state.stage = Stage::Waiting;
            drop(state);
            self.go_on(at);
        }
    }
}

impl<A: Action> Due for Schedule<A> {
    fn due(self: Arc<Self>) -> Option<Job> {
        let mut state = self.state.lock();
        state.round += 1;
        state.timer = None;
        if state.stage != Stage::Waiting {
            return None;
        }
        state.stage = Stage::Queued;
        drop(state);
        let watch = self.watcher.clone().map(|watcher| Box::new(watcher.begin(false)));
        Some(Job::new(Run { schedule: Some(self), watch }))
    }

    fn abandon(&self) {
        let _ = self.end(self.state.lock());
    }

    fn repeats(&self) -> bool {
        matches!(self.again, Again::Every(..))
    }

    fn class(&self) -> Priority {
        self.class
    }
}

impl<A: Action> Control for Schedule<A> {
    fn cancel(&self) -> bool {
        let Err(mut state) = self.end(self.state.lock()) else { return true };
        let runs_again = matches!(self.again, Again::Every(..)) && state.stage == Stage::Running;
        runs_again && !core::mem::replace(&mut state.is_cancelled, true)
    }

    fn last_error(&self) -> Option<String> {
        self.state.lock().error.clone()
    }

    fn ticks(&self) -> u64 {
        self.state.lock().ticks
    }

    fn is_over(&self) -> bool {
        self.state.lock().stage == Stage::Over
    }
}

/// One run of a schedule, as a job.
struct Run<A: Action> {
    schedule: Option<Arc<Schedule<A>>>,
    /// Boxed, so that a run fits into a job.
    watch: Option<Box<Watch>>,
}

impl<A: Action> Work for Run<A> {
    type Output = ();

    fn may_start(&self) -> bool {
        self.schedule.as_ref().is_some_and(|schedule| schedule.claim())
    }

    fn is_stale(&self) -> bool {
        // While its job is queued, only this job can claim the run.
        self.schedule.as_ref().is_none_or(|schedule| schedule.state.lock().stage != Stage::Queued)
    }

    fn run(mut self) {
        let Some(schedule) = self.schedule.take() else { return };
        match self.watch.take() {
            None => schedule.run(),
            Some(watch) => watch.run(|| schedule.run()),
        }
    }
}

impl<A: Action> Drop for Run<A> {
    fn drop(&mut self) {
        if let Some(schedule) = self.schedule.take() {
            schedule.skip();
        }
    }
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    let fixed = payload.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    let text = fixed.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}
