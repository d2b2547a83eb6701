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
use brigade_sync::{Condvar, Mutex, Parker};
use loom::model::Builder;
use loom::thread::{self, JoinHandle};

use super::{Idle, Snapshot};

/// Compiles only if the facade really is loom's.
const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

loom::lazy_static! {
    static ref TURNS: AtomicUsize = AtomicUsize::new(0);
}

/// A step that collides with the same step of every other thread, and orders nothing.
///
/// Loom tries two steps in the other order only if they collide, and of each word it remembers the last
/// access alone: a thread that loads a word before it writes it hides the loads of the others, and it is
/// never tried first. So whoever begins an operation takes a turn, and loom tries those in all orders.
fn turn() {
    TURNS.fetch_add(1, Ordering::Relaxed);
}

/// Explores a model. `LOOM_MAX_PREEMPTIONS` overrides the bound.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(move || {
        turn();
        model();
    });
}

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
            match self.steal() {
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
            idle: Idle::new(workers),
            queue,
            parkers: (0..workers).map(|_| Parker::new()).collect(),
            terminations: Mutex::new(0),
            waits: Mutex::new(()),
            changed: Condvar::new(),
        })
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
        assert!(self.idle.announce(index).watches, "another runs, and nobody watches yet");
        if !watches {
            self.idle.unwatch(index);
        }
    }

    /// `Core::inject`, after the push.
    fn published(&self) {
        if self.idle.after_publishing().wants_wake() {
            self.wake_one();
        }
    }

    /// `Worker::accepted`, after the push to the worker's own queue, which holds `queued`.
    fn accepted(&self, queued: impl FnOnce() -> usize) {
        let seen = self.idle.after_publishing();
        if seen.wants_wake() && (!seen.watched() || queued() > 1) {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        turn();
        if let Some(index) = self.idle.pick() {
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
        let announced = self.idle.announce(index);
        if self.queue.has_work() {
            self.withdraw(index);
            return false;
        }
        if announced.last {
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

    fn withdraw(&self, index: usize) {
        turn();
        if !self.idle.withdraw(index) {
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
        let word = self.idle.snapshot();
        fence(Ordering::Acquire);
        if !self.idle.all_parked(word) || self.queue.has_work() {
            return;
        }
        if word.closed() && self.idle.terminate() {
            *self.terminations.lock() += 1;
            for parker in &self.parkers {
                parker.unpark();
            }
        }
        if word.quiet_wanted() {
            drop(self.waits.lock());
            self.changed.notify_all();
        }
    }

    /// `Core::wait_idle`.
    fn wait_idle(&self) {
        let mut waits = self.waits.lock();
        loop {
            let word: Snapshot = self.idle.want_quiet(true);
            if word.terminated() || (self.idle.all_parked(word) && !self.queue.has_work()) {
                break;
            }
            waits = self.changed.wait(waits, None);
        }
        self.idle.want_quiet(false);
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

/// The submitter publishes, then looks for a sleeper; the worker announces, then looks for work.
///
/// Caught: no fence in `after_publishing`; none in `announce`.
#[test]
fn a_submitter_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let house = House::new(1, AtomicUsize::new(0));
        house.idle.start_search();
        let worker = house.spawn(|house| house.find(0));
        turn();
        house.queue.fetch_add(1, Ordering::Relaxed);
        house.published();
        assert!(worker.join().unwrap());
    });
}

/// The same with the queue that submitters really push to.
///
/// Caught: no fence in `announce`.
#[test]
fn a_push_to_the_injector_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let house = House::new(1, Injector::new());
        house.idle.start_search();
        let worker = house.spawn(|house| house.find(0));
        assert!(house.inject());
        assert!(worker.join().unwrap());
    });
}

/// Two submitters, one sleeper: one of them wakes it, and the second job is not forgotten either.
///
/// Caught: no fence in `announce`.
#[test]
fn of_two_submitters_one_wakes_the_sleeper() {
    check(3, || {
        let house = House::new(1, AtomicUsize::new(0));
        house.idle.start_search();
        let other = house.spawn(|house| {
            turn();
            house.queue.fetch_add(1, Ordering::Relaxed);
            house.published();
        });
        let worker = house.spawn(|house| {
            assert!(house.find(0));
            house.idle.start_search();
            assert!(house.find(0));
        });
        turn();
        house.queue.fetch_add(1, Ordering::Relaxed);
        house.published();
        other.join().unwrap();
        worker.join().unwrap();
    });
}

/// A submitter that sees a searcher says nothing; that searcher finds other work, and must pass it on.
///
/// Caught: no fence in `stop_search`; `stop_search` that never asks for a look.
#[test]
fn the_last_searcher_that_finds_work_wakes_another() {
    check(3, || {
        let house = House::new(2, AtomicUsize::new(1));
        house.is_asleep(0, false);
        house.idle.start_search();
        let sleeper = house.spawn(|house| {
            house.parkers[0].park(None);
            house.find(0)
        });
        let searcher = house.spawn(|house| house.find(1));
        turn();
        house.queue.fetch_add(1, Ordering::Relaxed);
        house.published();
        assert!(searcher.join().unwrap());
        assert!(sleeper.join().unwrap());
    });
}

/// A worker is silent about its lone child because a sleeper watches; the watcher stops watching.
fn lone_child_and_a_watcher_that_stops<O: Order + 'static>() {
    check(3, || {
        let local = brigade_queue::Worker::<(), O>::new(4);
        let house = House::new(2, local.stealer());
        house.is_asleep(0, true);
        let watcher = house.spawn(|house| {
            house.sleep(0, true);
            house.find(0)
        });
        turn();
        local.push(()).unwrap();
        house.accepted(|| local.len());
        assert!(watcher.join().unwrap());
    });
}

/// Caught: no fence in `after_publishing`; none in `unwatch`.
#[test]
fn a_lone_child_and_a_watcher_that_stops_never_miss_each_other_lifo() {
    lone_child_and_a_watcher_that_stops::<lifo::Lifo>();
}

/// Caught: no fence in `after_publishing`; none in `unwatch`.
#[test]
fn a_lone_child_and_a_watcher_that_stops_never_miss_each_other_fifo() {
    lone_child_and_a_watcher_that_stops::<fifo::Fifo>();
}

/// The same with a worker that is about to become the watcher.
///
/// Caught: no fence in `after_publishing`; none in `unwatch`.
#[test]
fn a_lone_child_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let local = fifo::Worker::new(4);
        let house = House::new(2, local.stealer());
        house.idle.start_search();
        let worker = house.spawn(|house| house.find(0));
        turn();
        local.push(()).unwrap();
        house.accepted(|| local.len());
        assert!(worker.join().unwrap());
    });
}

/// The watcher is woken for something else while a child is silent on its account; another sleeps on.
///
/// Caught: no fence in `stop_search`; `pick` that leaves `WATCHED`.
#[test]
fn a_lone_child_whose_watcher_is_called_away_is_not_forgotten() {
    check(3, || {
        let local = fifo::Worker::new(4);
        let house = House::new(3, (AtomicUsize::new(0), local.stealer()));
        house.is_asleep(2, false);
        house.is_asleep(0, true);
        let sleeper = house.spawn(|house| {
            house.parkers[2].park(None);
            house.find(2)
        });
        // The submitter, and then the watcher that it woke: one thread, as the one comes after the other.
        let watcher = house.spawn(|house| {
            turn();
            house.queue.0.fetch_add(1, Ordering::Relaxed);
            assert!(house.idle.after_publishing().wants_wake());
            assert_eq!(house.idle.pick(), Some(0));
            house.find(0)
        });
        turn();
        local.push(()).unwrap();
        house.accepted(|| local.len());
        assert!(watcher.join().unwrap());
        assert!(sleeper.join().unwrap());
    });
}

/// A worker's batch from the injector is out of sight for a moment; who went to sleep over it is woken.
///
/// Caught: no fence in `after_publishing`; none in `unwatch`.
#[test]
fn a_batch_on_its_way_to_a_worker_is_not_forgotten() {
    check(3, || {
        let injector = Injector::new();
        injector.push(()).unwrap();
        injector.push(()).unwrap();
        let local = fifo::Worker::new(4);
        let house = House::new(2, (injector, local.stealer()));
        house.idle.start_search();
        let worker = house.spawn(|house| house.find(1));
        // `Worker::refill`.
        turn();
        assert!(house.queue.0.pop_batch_into(&local, 2).is_some());
        if local.len() > 0 {
            house.accepted(|| local.len());
        }
        assert!(worker.join().unwrap());
    });
}

/// So are the jobs that a thief carries away.
///
/// Caught: `stop_search` that never asks for a look.
#[test]
fn what_a_thief_carries_away_is_not_forgotten() {
    check(3, || {
        let (victim, local) = (lifo::Worker::new(4), lifo::Worker::new(4));
        victim.push(()).unwrap();
        victim.push(()).unwrap();
        // The victim is a third worker, which runs all the time.
        let house = House::new(3, (victim.stealer(), local.stealer()));
        house.idle.start_search();
        house.idle.start_search();
        let worker = house.spawn(|house| house.find(1));
        turn();
        let stolen = loop {
            match house.queue.0.steal_into(&local, Limit::AtMost(2)) {
                Err(StealError::Busy) => brigade_sync::hint::spin_loop(),
                other => break other,
            }
        };
        assert!(stolen.is_ok(), "the other takes one of two");
        house.found();
        assert!(worker.join().unwrap());
    });
}

/// One of them takes the sleeper off the list: the worker itself, or who picks it, with a token.
///
/// Caught: `withdraw` that does not look whether it is on the list still.
#[test]
fn a_worker_that_withdraws_is_picked_or_not() {
    check(3, || {
        let house = House::new(1, AtomicUsize::new(0));
        house.idle.start_search();
        let _ = house.idle.announce(0);
        let worker = house.spawn(|house| house.withdraw(0));
        turn();
        let picked = house.idle.pick();
        if let Some(index) = picked {
            house.parkers[index].unpark();
        }
        worker.join().unwrap();
        let word = house.idle.snapshot();
        assert_eq!((word.searching(), word.parked()), (1, 0));
        assert!(!house.parkers[0].try_take(), "the token was taken by whom it was for");
        assert_eq!(house.idle.pick(), None);
    });
}

/// A watcher that withdraws, is picked, or stops watching leaves no watch behind.
///
/// Caught: `pick` that leaves `WATCHED`.
#[test]
fn a_watch_ends_with_its_watcher() {
    check(3, || {
        let house = House::new(2, AtomicUsize::new(0));
        house.is_asleep(0, true);
        let watcher = house.spawn(|house| {
            turn();
            house.idle.unwatch(0);
            house.withdraw(0);
        });
        turn();
        house.published();
        watcher.join().unwrap();
        let word = house.idle.snapshot();
        assert_eq!((word.searching(), word.parked(), word.watched()), (1, 0, false));
    });
}

/// A pool is terminated once, by the last worker that parks or by the closer, and with nothing queued.
///
/// Caught: `terminate` that does not look whether all are parked; no fence in `announce`.
#[test]
fn a_closed_pool_runs_what_it_accepted_and_ends_once() {
    check(3, || {
        let house = House::new(1, Injector::new());
        let worker = house.spawn(|house| house.live(0));
        assert!(house.inject());
        house.close();
        assert!(!house.inject());
        assert_eq!(worker.join().unwrap(), 1);
        assert_eq!(*house.terminations.lock(), 1);
        assert!(house.queue.is_empty());
    });
}

/// The same with two workers, either of which may be the last.
///
/// Caught: `terminate` that does not look whether all are parked.
#[test]
fn a_closed_pool_of_two_ends_once() {
    check(2, || {
        let house = House::new(2, Injector::new());
        let workers = [0, 1].map(|index| house.spawn(move |house| house.live(index)));
        assert!(house.inject());
        house.close();
        assert_eq!(workers.map(|worker| worker.join().unwrap()).iter().sum::<usize>(), 1);
        assert_eq!(*house.terminations.lock(), 1);
        assert!(house.queue.is_empty());
    });
}

/// A submitter beside the closer: what it was told was accepted is run.
///
/// Caught: `settle` looking for work before it looks whether the pool is closed: a job accepted
/// between the two was never run.
#[test]
fn a_job_accepted_beside_a_close_is_run() {
    check(3, || {
        let house = House::new(1, Injector::new());
        let worker = house.spawn(|house| house.live(0));
        let submitter = house.spawn(House::inject);
        house.close();
        let accepted = submitter.join().unwrap();
        assert_eq!(worker.join().unwrap(), usize::from(accepted));
        assert_eq!(*house.terminations.lock(), 1);
    });
}

/// Who waits for a quiet pool is told, and not before the work is done.
///
/// Caught: no fence in `announce`.
#[test]
fn a_waiter_is_told_when_the_pool_is_quiet() {
    check(3, || {
        let house = House::new(1, Injector::new());
        let worker = house.spawn(|house| house.live(0));
        assert!(house.inject());
        house.wait_idle();
        assert!(house.queue.is_empty());
        house.close();
        assert_eq!(worker.join().unwrap(), 1);
    });
}
