//! Models of the wake-up rule, one for each half of it; `ci/loom.sh` runs them.
//!
//! The subject is the real [`Idle`], with the real queues and parkers. [`ModelPool`] repeats what a worker and a submitter do
//! with them, as briefly as possible, and each method names what it mirrors. The engine itself takes far more steps than a
//! model checker can follow. A job is a unit, and a worker that has taken one never looks for another. So if no worker is woken
//! for a job, a worker sleeps forever, and loom reports a deadlock.

use std::sync::Arc;
use std::time::Duration;

use brigade_queue::{Injector, Limit, Order, StealError, Stealer, fifo, lifo};
use brigade_sync::atomic::{AtomicUsize, Ordering, fence};
use brigade_sync::model::{check, turn};
use brigade_sync::{Condvar, Mutex, Parker};
use loom::thread::{self, JoinHandle};

use super::{Duty, Idle, Leave, Wait};
use crate::config::{Config, Size};

mod crew;
mod doze;
mod driver;
mod driver_pool;
mod end;
mod forks;
mod guests;
mod joins;
mod quiet;
mod wake;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// Where work is queued.
trait Source: Send + Sync + 'static {
    /// Takes a job if there is one.
    fn take(&self) -> bool;
    /// Whether there is one, as `Queues::has_work`.
    fn has_work(&self) -> bool;
}

/// A queue that orders nothing at all: the fences of [`Idle`] must provide all ordering.
impl Source for AtomicUsize {
    fn take(&self) -> bool {
        turn();
        let mut count = self.load(Ordering::Relaxed);
        while count > 0 {
            match self.compare_exchange(count, count - 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }

    fn has_work(&self) -> bool {
        turn();
        self.load(Ordering::Relaxed) > 0
    }
}

impl Source for Injector<()> {
    fn take(&self) -> bool {
        turn();
        !self.is_empty() && self.pop().is_some()
    }

    fn has_work(&self) -> bool {
        turn();
        !self.is_empty()
    }
}

impl<O: Order + 'static> Source for Stealer<(), O> {
    fn take(&self) -> bool {
        turn();
        loop {
            match self.steal_one() {
                Ok(()) => return true,
                Err(StealError::Empty) => return false,
                Err(StealError::Busy) => brigade_sync::hint::spin_loop(),
            }
        }
    }

    fn has_work(&self) -> bool {
        turn();
        self.len() > 0
    }
}

impl<A: Source, B: Source> Source for (A, B) {
    fn take(&self) -> bool {
        self.0.take() || self.1.take()
    }

    fn has_work(&self) -> bool {
        self.0.has_work() || self.1.has_work()
    }
}

/// No worker is started except where a model does so.
fn idle(core: usize, max: usize, spare: usize) -> Idle {
    Idle::new(&Config { size: Size { core, max, spare }, ..Config::default() }, 2)
}

/// A pool reduced to the wake-up rule.
struct ModelPool<Q> {
    idle: Idle,
    queue: Q,
    parkers: Vec<Parker>,
    /// How often the pool was terminated. It has its own lock, so that it orders nothing else.
    terminations: Mutex<usize>,
    /// `Core::rest`.
    rest: Mutex<()>,
    changed: Condvar,
}

impl<Q: Source> ModelPool<Q> {
    fn new(workers: usize, queue: Q) -> Arc<Self> {
        Arc::new(Self {
            idle: Self::all_run(workers),
            queue,
            parkers: (0..workers).map(|_| Parker::new()).collect(),
            terminations: Mutex::new(0),
            rest: Mutex::new(()),
            changed: Condvar::new(),
        })
    }

    /// A crew that is complete, so that no worker is ever started.
    fn all_run(workers: usize) -> Idle {
        let idle = idle(workers, workers, 0);
        for index in 0..workers {
            assert_eq!(idle.pick_core(), Some(index));
            idle.arrive(index);
            idle.begin(index);
        }
        idle
    }

    fn spawn<R: 'static>(
        self: &Arc<Self>,
        main: impl FnOnce(&Self) -> R + 'static,
    ) -> JoinHandle<R> {
        let pool = self.clone();
        thread::spawn(move || main(&pool))
    }

    /// Parks a worker before the model begins, as the monitor if `monitors`.
    fn is_asleep(&self, index: usize, monitors: bool) {
        self.idle.start_search();
        let duty = self.idle.announce(index, false).duty;
        assert_eq!(duty, Some(Duty::Monitor), "another runs, and none monitors yet");
        if !monitors {
            self.idle.give_up_duty(index);
        }
    }

    /// `Core::inject`, after the push.
    fn published(&self) {
        if self.idle.after_publishing().wants_help() {
            self.wake_one();
        }
    }

    /// `Worker::announce`, after the push to the worker's own queue, which holds `queued`.
    fn accepted(&self, queued: impl FnOnce() -> usize) {
        let seen = self.idle.after_publishing();
        if seen.wants_help() && (!seen.monitored() || queued() > 1) {
            self.wake_one();
        }
    }

    /// The same for a job that the worker's own poll has woken.
    fn accepted_in_poll(&self) {
        let seen = self.idle.after_publishing();
        if seen.wants_help() && !seen.monitored() && !seen.stood_by() {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        turn();
        let help = self.idle.pick(usize::MAX, true);
        assert_eq!(help.start, None, "the crew is complete");
        if let Some(index) = help.wake {
            self.parkers[index].unpark();
        }
    }

    /// `Worker::hunt` up to the first job; `false` if the pool has terminated.
    fn find(&self, index: usize) -> bool {
        while !self.queue.take() {
            if self.park(index) {
                return false;
            }
        }
        self.found();
        true
    }

    /// `Worker::found`.
    fn found(&self) {
        turn();
        if self.idle.stop_search() && self.queue.has_work() {
            self.wake_one();
        }
    }

    /// `Worker::park`.
    fn park(&self, index: usize) -> bool {
        turn();
        let announced = self.idle.announce(index, false);
        if self.queue.has_work() {
            self.withdraw(index);
            return self.idle.snapshot().terminated();
        }
        if announced.settles {
            self.settle();
        }
        self.sleep(index, announced.duty == Some(Duty::Monitor));
        self.idle.snapshot().terminated()
    }

    /// `Worker::sleep`. The looks of a monitor before its last one can only find more, so there is only one.
    fn sleep(&self, index: usize, monitors: bool) {
        if monitors {
            if self.parkers[index].park(Some(Duration::ZERO)) {
                return;
            }
            self.idle.give_up_duty(index);
            if self.queue.has_work() {
                return self.withdraw(index);
            }
        }
        self.parkers[index].park(None);
    }

    /// `Monitor::stand_by`. The later looks can only find more, so there is none.
    fn stand_by(&self, index: usize) {
        if self.parkers[index].park(Some(Duration::ZERO)) {
            return;
        }
        if self.idle.take_up_duty(index, Duty::Standby) && self.queue.has_work() {
            return self.withdraw(index);
        }
        self.parkers[index].park(None);
    }

    /// `Worker::withdraw`.
    fn withdraw(&self, index: usize) {
        turn();
        if !self.idle.withdraw(index) {
            let seen = self.idle.after_publishing();
            if seen.searching() == 0 && seen.wants_help() && self.queue.has_work() {
                self.wake_one();
            }
            self.parkers[index].park(None);
        }
    }

    /// The whole life of a worker: runs jobs until the pool has terminated; returns how many.
    fn live(&self, index: usize) -> usize {
        let mut ran = 0;
        loop {
            self.idle.start_search();
            if !self.find(index) {
                return ran;
            }
            ran += 1;
        }
    }

    /// `Core::settle`.
    fn settle(&self) {
        turn();
        if self.idle.find_quiet(|| !self.queue.has_work()) {
            self.notify_rest();
        }
        let state = self.idle.snapshot();
        fence(Ordering::SeqCst);
        if !state.all_parked() || self.queue.has_work() {
            return;
        }
        if state.closed() && self.idle.terminate(|| false) {
            *self.terminations.lock() += 1;
            for parker in &self.parkers {
                parker.unpark();
            }
        }
    }

    /// `Signal::notify`.
    fn notify_rest(&self) {
        drop(self.rest.lock());
        self.changed.notify_all();
    }

    /// `Core::wait_idle`.
    fn wait_idle(&self) {
        turn();
        let Wait::Since(quiets) = self.idle.begin_wait(|| !self.queue.has_work()) else { return };
        let mut rest = self.rest.lock();
        while !self.idle.was_quiet(quiets) {
            rest = self.changed.wait(rest, None);
        }
        drop(rest);
        self.idle.end_wait();
    }
}

impl ModelPool<Injector<()>> {
    /// `Core::inject`.
    fn inject(&self) -> bool {
        turn();
        let accepted = self.queue.push(()).is_ok();
        if accepted {
            self.published();
        }
        accepted
    }

    /// `Core::close`.
    fn close(&self) {
        turn();
        self.queue.close();
        self.idle.close(false);
        self.settle();
    }
}
