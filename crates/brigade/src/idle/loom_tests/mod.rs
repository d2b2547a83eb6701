//! Models of the wake rule, one for each half of it; `ci/loom.sh` runs them.
//!
//! The subject is the real [`Idle`], with the real queues and parkers. What a worker and a submitter do
//! with them is written down once more in [`House`], as short as it can be, and names what it mirrors: the
//! engine itself takes far more steps than a model checker can follow. A job is a number of nothing, and
//! who has one keeps it for ever: it never looks for another, so a job that nobody is told of is stranded,
//! a worker that should have it sleeps for ever, and loom reports a deadlock.

use std::sync::Arc;
use std::time::Duration;

use brigade_queue::{Injector, Limit, Order, StealError, Stealer, fifo, lifo};
use brigade_sync::atomic::{AtomicUsize, Ordering, fence};
use brigade_sync::model::{check, turn};
use brigade_sync::{Condvar, Mutex, Parker};
use loom::thread::{self, JoinHandle};

use super::{Idle, Leave, Size, Wait};

mod crew;
mod end;
mod joins;
mod keeper;
mod lighthouse;
mod quiet;
mod wake;

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

/// Where work lies.
trait Source: Send + Sync + 'static {
    /// Takes a job if there is one.
    fn take(&self) -> bool;
    /// The look of [`Core::has_work`](crate::engine::Core).
    fn has_work(&self) -> bool;
}

/// A queue that orders nothing at all: what it needs must come from the fences of [`Idle`].
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

/// A pool with everything but the wake rule left out.
struct House<Q> {
    idle: Idle,
    queue: Q,
    parkers: Vec<Parker>,
    /// How often the pool was terminated. Under a lock of its own: it orders nothing that matters.
    terminations: Mutex<usize>,
    waits: Mutex<()>,
    changed: Condvar,
}

impl<Q: Source> House<Q> {
    fn new(workers: usize, queue: Q) -> Arc<Self> {
        Arc::new(Self {
            idle: Self::all_run(workers),
            queue,
            parkers: (0..workers).map(|_| Parker::new()).collect(),
            terminations: Mutex::new(0),
            waits: Mutex::new(()),
            changed: Condvar::new(),
        })
    }

    /// A crew that is complete, so that nobody is ever started.
    fn all_run(workers: usize) -> Idle {
        let idle = Idle::new(Size { core: workers, max: workers, spare: 0 }, true);
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
        let house = self.clone();
        thread::spawn(move || main(&house))
    }

    /// Puts a worker to sleep before the model begins; whether it watches is as asked.
    fn is_asleep(&self, index: usize, watches: bool) {
        self.idle.start_search();
        assert!(self.idle.announce(index, false).watches, "another runs, and nobody watches yet");
        if !watches {
            self.idle.unwatch(index);
        }
    }

    /// `Core::inject`, after the push.
    fn published(&self) {
        if self.idle.after_publishing().wants_help() {
            self.wake_one();
        }
    }

    /// `Worker::accepted`, after the push to the worker's own queue, which holds `queued`.
    fn accepted(&self, queued: impl FnOnce() -> usize) {
        let seen = self.idle.after_publishing();
        if seen.wants_help() && (!seen.watched() || queued() > 1) {
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

    /// `Worker::find` of a searcher; `false` if the pool has terminated.
    fn find(&self, index: usize) -> bool {
        while !self.queue.take() {
            if self.park(index) {
                return false;
            }
        }
        self.found();
        true
    }

    /// What a searcher does that has found work.
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
        self.sleep(index, announced.watches);
        self.idle.snapshot().terminated()
    }

    /// `Worker::sleep`. Looks of a watcher before its last can only find more, so there is but one.
    fn sleep(&self, index: usize, watches: bool) {
        if watches {
            if self.parkers[index].park(Some(Duration::ZERO)) {
                return;
            }
            self.idle.unwatch(index);
            if self.queue.has_work() {
                return self.withdraw(index);
            }
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

    /// A whole life: runs what it finds until the pool has terminated; returns how many.
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
            self.tell_waiters();
        }
        let word = self.idle.snapshot();
        fence(Ordering::SeqCst);
        if !word.all_parked() || self.queue.has_work() {
            return;
        }
        if word.closed() && self.idle.terminate() {
            *self.terminations.lock() += 1;
            for parker in &self.parkers {
                parker.unpark();
            }
        }
    }

    /// `Core::tell_waiters`.
    fn tell_waiters(&self) {
        drop(self.waits.lock());
        self.changed.notify_all();
    }

    /// `Core::wait_idle`.
    fn wait_idle(&self) {
        turn();
        let Wait::Since(quiets) = self.idle.begin_wait(|| !self.queue.has_work()) else { return };
        let mut waits = self.waits.lock();
        while !self.idle.was_quiet(quiets) {
            waits = self.changed.wait(waits, None);
        }
        drop(waits);
        self.idle.end_wait();
    }
}

impl House<Injector<()>> {
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
