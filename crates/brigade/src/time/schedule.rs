//! A closure that runs at given times.
//!
//! **Stages.** The closure stays in its [`Schedule`], to which its `Timer` points, and its timer or the job of its
//! next run. The stage says which thread may touch the closure. While the closure is [`Here`](Stage::Here), it has a
//! single timer or a single job. A thread takes the closure by a change of the stage: a worker that is about to run
//! it, a thread that cancels it, or a thread that closes the pool. From then on only this thread touches the
//! closure. It makes the closure `Here` again, for the next run, or drops it. A timer or a job that finds the
//! closure taken has no effect, so a cancellation need not find them in time.
//!
//! **No run is lost.** A thread that makes the closure `Here` then sets the next timer, or ends the schedule if the
//! pool rejects the timer. A dropped job takes the closure like a run, and continues as after a run. So runs never
//! overlap.
//!
//! **No timer is left behind.** The key of a timer is known once the timer is set; a cancellation may come before.
//! So after setting the timer, the thread looks at the state: if the closure is no longer `Here` for a run at that
//! time, the thread removes the timer. Each run is due later than the run before, so the time identifies the run.
//!
//! No user code runs under the lock of the state. The engine is not called under this lock either, because the
//! engine may start a thread. The closure has a separate lock, for which no thread ever waits.

use core::mem;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_sync::{Defer, Mutex, MutexGuard, call_user};
use brigade_task::{Cause, Job, JoinError, Work};

use super::timer::{Control, Stage, Timer, TimerState};
use super::{Missed, start_timer, stop_timer};
use crate::engine::{
    Due, Entry, Key, TimerKey, class_here, drop_off_pool, now_in, reach, reach_once,
};
use crate::submission::{Carrying, JobBuilder, Options, watcher_of};
use crate::values::{ListedTimer, Priority, Rejected, Watch, Watcher};

/// A closure, and the state of its runs.
struct Schedule<F> {
    state: Mutex<TimerState>,
    /// The closure, until it is dropped. Locked only by the thread that has taken it.
    closure: Mutex<Option<Carrying<F>>>,
    /// Calls the closure, and takes it out first if it runs once.
    call: fn(&mut Option<F>),
    /// The period of a closure that runs many times.
    again: Option<(Duration, Missed)>,
    pool: Key,
    class: Priority,
    /// Watches each run.
    watcher: Watcher,
}

/// Schedules a closure at a time and perhaps `again`; `call` calls the closure.
///
/// # Errors
/// Returns the closure if the pool rejects it.
pub(super) fn schedule<F: Send + 'static>(
    builder: JobBuilder,
    place: &'static Location<'static>,
    at: Instant,
    again: Option<(Duration, Missed)>,
    call: fn(&mut Option<F>),
    closure: F,
) -> Result<Timer, Rejected<F>> {
    let JobBuilder { key: pool, options: Options { mut carried, class, .. }, .. } = builder;
    carried.inherit();
    let state = TimerState { stage: Stage::Here, at, timer: None, ticks: 0, error: None };
    let class = class.unwrap_or_else(|| class_here(pool));
    let watcher = watcher_of(pool, place, carried.name.as_ref(), Some(class));
    let schedule = Arc::new(Schedule {
        state: Mutex::new(state),
        closure: Mutex::new(Some(Carrying::new(carried, closure))),
        call,
        again,
        pool,
        class,
        watcher,
    });
    if schedule.wait(at) {
        return Ok(Timer::new(schedule, pool));
    }
    let closure = schedule.closure.lock().take().and_then(|mut closure| closure.take());
    let Some(closure) = closure else { unreachable!("nothing took it") };
    Err(reach_once(pool, |at| at.rejected(closure)))
}

impl<F: Send + 'static> Schedule<F> {
    /// Sets the timer of a closure in the stage `Here`; `false` if the pool rejects it.
    fn wait(self: &Arc<Self>, at: Instant) -> bool {
        let (class, repeats) = (self.class, self.again.is_some());
        let due: Arc<dyn Due> = match self.watcher.list_timer(at) {
            None => self.clone(),
            Some(_timer) => Arc::new(Listed { due: self.clone(), _timer }),
        };
        set_timer(self.pool, at, Entry::Run { due, class, repeats }, &self.state)
    }

    /// Takes the closure if the stage is `Here`, and sets the stage.
    fn take(&self, stage: Stage) -> bool {
        let mut state = self.state.lock();
        let is_here = state.stage == Stage::Here;
        if is_here {
            state.stage = stage;
        }
        is_here
    }

    /// Runs the closure, after it has been [taken](Self::take).
    ///
    /// # Panics
    /// If the closure panics; the state is consistent then.
    fn run(self: &Arc<Self>) {
        let call = || {
            if let Some(closure) = &mut *self.closure.lock() {
                closure.run(self.call);
            }
        };
        let result = panic::catch_unwind(AssertUnwindSafe(call)).map_err(JoinError::panicked);
        let mut state = self.state.lock();
        state.ticks += 1;
        if let Err(error) = &result {
            let text = error.panic_message().unwrap_or("a panic without a text");
            state.error = Some(text.to_owned());
        }
        drop(state);
        self.go_on();
        if let Err(JoinError::Panicked(panic)) = result {
            // The worker applies the pool's policy to the panic.
            panic.resume();
        }
    }

    /// After a run, or instead of a run: waits for the next run, or ends.
    fn go_on(self: &Arc<Self>) {
        let again = self.again.map(|(period, missed)| (period, missed, now_in(self.pool)));
        let mut state = self.state.lock();
        if let (Stage::Running, Some((period, missed, now))) = (state.stage, again) {
            let at = missed.next(state.at, period, now);
            (state.stage, state.at) = (Stage::Here, at);
            drop(state);
            if !self.wait(at) {
                self.abandon();
            }
        } else {
            state.stage = Stage::Ending;
            drop(state);
            self.end();
        }
    }

    /// Drops the closure, in the stage [`Ending`](Stage::Ending).
    fn end(&self) {
        if let Some(closure) = self.closure.lock().take() {
            closure.drop_contained();
        }
        self.state.lock().stage = Stage::Over;
    }
}

impl<F: Send + 'static> Due for Schedule<F> {
    fn due(self: Arc<Self>) -> Job {
        let watch = self.watcher.clone().begin(false);
        Job::new(Run { schedule: Some(self), watch })
    }

    fn abandon(&self) {
        if self.take(Stage::Ending) {
            self.end();
        }
    }
}

impl<F: Send + 'static> Control for Schedule<F> {
    fn state(&self) -> MutexGuard<'_, TimerState> {
        self.state.lock()
    }

    fn cancel(self: Arc<Self>) -> bool {
        let mut state = self.state.lock();
        let (is_here, timer) = (state.stage == Stage::Here, state.timer);
        if !is_here && (state.stage != Stage::Running || self.again.is_none()) {
            return false;
        }
        state.stage = Stage::Ending;
        drop(state);
        if is_here {
            unset_timer(self.pool, timer);
            // The closure may own the next timer.
            let (pool, ends) = (self.pool, Defer(move || self.end()));
            drop_off_pool(pool, Job::new(move || drop(ends)));
        }
        true
    }
}

// Not generic, to be compiled once.

/// A closure of an observed pool, whose timer is listed.
struct Listed {
    due: Arc<dyn Due>,
    _timer: ListedTimer,
}

impl Due for Listed {
    fn due(self: Arc<Self>) -> Job {
        self.due.clone().due()
    }

    fn abandon(&self) {
        self.due.abandon();
    }
}

/// Sets the timer of a closure with this state; `false` if the pool rejects it.
fn set_timer(pool: Key, at: Instant, entry: Entry, state: &Mutex<TimerState>) -> bool {
    let Some(timer) = start_timer(pool, at, entry) else { return false };
    let mut state = state.lock();
    if state.stage == Stage::Here && state.at == at {
        state.timer = Some(timer);
    } else {
        drop(state);
        drop(stop_timer(pool, timer));
    }
    true
}

/// Removes the timer of a cancelled closure, or notes that the job of a run is left in a queue.
fn unset_timer(pool: Key, timer: Option<TimerKey>) {
    if timer.and_then(|timer| stop_timer(pool, timer)).is_none() {
        reach(pool, &mut |pool| pool.leaves_entry());
    }
}

/// A run of a schedule, as a job.
struct Run<F: Send + 'static> {
    schedule: Option<Arc<Schedule<F>>>,
    watch: Watch,
}

impl<F: Send + 'static> Work for Run<F> {
    type Output = ();

    fn may_start(&self) -> Result<(), Cause> {
        let takes = |schedule: &Arc<Schedule<F>>| schedule.take(Stage::Running);
        // While this job is queued, only the timer's handle takes the closure.
        self.schedule.as_ref().is_some_and(takes).then_some(()).ok_or(Cause::Asked)
    }

    fn is_stale(&self) -> bool {
        // While this job is queued, only this job can run the closure.
        self.schedule.as_ref().is_none_or(|schedule| schedule.state.lock().stage != Stage::Here)
    }

    fn run(mut self) {
        let Some(schedule) = self.schedule.take() else { return };
        let run: &mut dyn FnMut() = &mut || schedule.run();
        mem::take(&mut self.watch).run(run);
    }
}

impl<F: Send + 'static> Drop for Run<F> {
    fn drop(&mut self) {
        // A periodic closure whose job is dropped still runs again.
        if let Some(schedule) = self.schedule.take() {
            if schedule.take(Stage::Running) {
                schedule.go_on();
            }
        }
    }
}

/// Calls a closure that runs once, and removes it.
pub(super) fn once<F: FnOnce()>(closure: &mut Option<F>) {
    if let Some(closure) = closure.take() {
        call_user(closure);
    }
}

/// Calls a closure that runs many times.
pub(super) fn many<F: FnMut()>(closure: &mut Option<F>) {
    if let Some(closure) = closure {
        call_user(closure);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use core::task::Waker;

    use super::*;
    use crate::Pool;
    use crate::engine::find;

    #[test]
    fn a_timer_stays_only_while_its_closure_waits() {
        let pool = Pool::new(1);
        let key = pool.job().key;
        let at = now_in(key) + Duration::from_secs(3600);
        let is_set = || !find(key).unwrap().events.timers.is_empty();
        let set = |stage, next| {
            let state = TimerState { stage, at: next, timer: None, ticks: 0, error: None };
            let state = Mutex::new(state);
            assert!(set_timer(key, at, Entry::Wake(Waker::noop().clone()), &state));
            let timer = state.lock().timer;
            (timer.is_some(), is_set(), timer)
        };
        for stage in [Stage::Running, Stage::Ending, Stage::Over] {
            assert_eq!(set(stage, at), (false, false, None), "the run takes place, or never will");
        }
        let later = at + Duration::from_nanos(1);
        assert_eq!(set(Stage::Here, later), (false, false, None), "it waits for another run");
        let (is_known, is_set_now, timer) = set(Stage::Here, at);
        assert!(is_known && is_set_now);
        unset_timer(key, timer);
        assert!(!is_set());
    }
}
