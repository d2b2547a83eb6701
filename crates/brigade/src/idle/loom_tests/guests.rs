//! Callers that participate. `engine/FORKS.md` has the protocol.
//!
//! A guest forks without a fence, so a worker that does not see what it has forked must see the guest instead: then it passes the
//! heavy fence, and the models in `forks` begin there. Here each side says what it has seen.

use brigade_queue::deque;
use brigade_sync::cell::UnsafeCell;

use super::*;
use crate::idle::guests::Guests;

/// A pool that has one guest, or several.
struct Visited {
    pool: Arc<ModelPool<AtomicUsize>>,
    /// Of the guest that waits.
    parker: Parker,
    /// How many jobs have run.
    ran: AtomicUsize,
    /// The queues with an index of a guest, which are that of one guest at a time.
    queues: [UnsafeCell<()>; 4],
}

impl Visited {
    /// All workers run.
    fn new(workers: usize) -> Arc<Self> {
        let pool = ModelPool::new(workers, AtomicUsize::new(0));
        let queues = core::array::from_fn(|_| UnsafeCell::new(()));
        Arc::new(Self { pool, parker: Parker::new(), ran: AtomicUsize::new(0), queues })
    }

    fn spawn<R: 'static>(
        self: &Arc<Self>,
        main: impl FnOnce(&Self) -> R + 'static,
    ) -> JoinHandle<R> {
        let this = self.clone();
        thread::spawn(move || main(&this))
    }

    /// `visit`; `None` if the pool does not let the caller in.
    fn visit<R>(&self, call: impl FnOnce() -> R) -> Option<R> {
        let ModelPool { idle, .. } = &*self.pool;
        turn();
        let index = idle.take_guest_index()?;
        // `Core::accept_for`.
        turn();
        if idle.snapshot().closed() {
            idle.release_guest_index(index);
            self.pool.settle();
            return None;
        }
        // `Worker::at`.
        self.queues[index].with_mut(|_| ());
        idle.guests.wake();
        let result = call();
        idle.guests.sleep();
        // `Worker::give_back`.
        self.queues[index].with_mut(|_| ());
        idle.release_guest_index(index);
        self.pool.settle();
        Some(result)
    }

    /// `Worker::sleep_as_guest`, until a job has run.
    fn sleep(&self) {
        let guests = &self.pool.idle.guests;
        guests.sleep();
        while self.ran.load(Ordering::Acquire) == 0 {
            self.parker.park(None);
        }
        guests.wake();
    }

    /// A job of a scope, for a worker.
    fn add(&self) {
        turn();
        self.pool.queue.fetch_add(1, Ordering::Relaxed);
        self.pool.published();
    }

    /// The life of a worker, which wakes the guest after each job.
    fn live(&self, index: usize) {
        loop {
            self.pool.idle.start_search();
            if !self.pool.find(index) {
                return;
            }
            self.end_job();
        }
    }

    /// A job ends that the guest waits for.
    fn end_job(&self) {
        turn();
        self.ran.fetch_add(1, Ordering::Release);
        self.parker.unpark();
    }

    fn close(&self) {
        turn();
        self.pool.idle.close(false);
        self.pool.settle();
    }

    /// `Worker::fence_forks`, of a worker beside which no other runs: whether it passes the heavy fence.
    fn sees_guests(&self) -> bool {
        turn();
        self.pool.idle.guests.are_awake()
    }

    /// `Forks::push` of a guest whose fork is alone: whether a parked worker is woken for it.
    fn wakes(&self) -> bool {
        turn();
        let seen = self.pool.idle.snapshot();
        seen.wants_help_for_forks() && !seen.monitored()
    }

    /// `Worker::park` of the last worker that runs: whether it looks for what guests fork, or will look as the monitor.
    fn parks(&self) -> bool {
        turn();
        self.pool.idle.start_search();
        let announced = self.pool.idle.announce(0, false);
        announced.duty == Some(Duty::Monitor) || self.sees_guests()
    }

    /// `Monitor::tick` of the last one, unless a guest is awake: whether the worker looks for what guests fork, then or later.
    fn gives_up(&self) -> bool {
        if self.sees_guests() {
            return true;
        }
        self.pool.idle.give_up_duty(0);
        self.sees_guests()
    }
}

/// Caught: no fence in `wake`; none in `announce`; a guest that is counted after it has forked.
#[test]
fn a_guest_that_enters_and_a_parking_worker_never_miss_each_other() {
    check(4, || {
        let visited = Visited::new(1);
        let worker = visited.spawn(Visited::parks);
        visited.visit(|| assert!(visited.wakes() | worker.join().unwrap())).unwrap();
    });
}

/// The same for a guest that slept while the worker ran what it waits for.
///
/// Caught: no fence in `wake`; none in `announce`; no `wake` after the sleep.
#[test]
fn a_guest_that_is_woken_and_a_parking_worker_never_miss_each_other() {
    check(3, || {
        let visited = Visited::new(1);
        let worker = visited.spawn(|visited| {
            visited.end_job();
            visited.parks()
        });
        let call = || {
            visited.sleep();
            assert!(visited.wakes() | worker.join().unwrap());
        };
        visited.visit(call).unwrap();
    });
}

/// Nothing runs but guests that come and go, for which a worker monitors the queues.
///
/// Caught: no fence in `wake`; none in `give_up_duty`; a monitor that does not ask again after it has given up.
#[test]
fn a_guest_that_enters_and_a_monitor_that_gives_up_never_miss_each_other() {
    check(4, || {
        let visited = Visited::new(1);
        visited.pool.idle.guests.wake();
        assert!(visited.parks(), "it monitors for a guest");
        visited.pool.idle.guests.sleep();
        let monitor = visited.spawn(Visited::gives_up);
        visited.visit(|| assert!(visited.wakes() | monitor.join().unwrap())).unwrap();
    });
}

/// A job that a guest has added is run although the pool has been closed since, and the pool ends when the guest has left.
///
/// Caught: `terminate` that does not ask for guests; a guest that does not settle when it leaves, or when it is not let in; one
/// that settles before it leaves.
#[test]
fn a_pool_ends_after_its_guests() {
    check(3, || {
        let visited = Visited::new(1);
        let worker = visited.spawn(|visited| visited.live(0));
        let guest = visited.spawn(|visited| {
            let call = || {
                visited.add();
                visited.sleep();
            };
            visited.visit(call).is_some()
        });
        visited.close();
        let ran = guest.join().unwrap();
        worker.join().unwrap();
        assert_eq!(visited.ran.load(Ordering::Relaxed), usize::from(ran));
        assert_eq!(*visited.pool.terminations.lock(), 1);
        assert!(!visited.pool.idle.has_guests());
    });
}

/// Caught: an index that is released before the queues are given back.
#[test]
fn an_index_is_that_of_one_guest_at_a_time() {
    check(3, || {
        let visited = Visited::new(1);
        let other = visited.spawn(|visited| visited.visit(|| ()));
        assert!(visited.visit(|| ()).is_some());
        assert!(other.join().unwrap().is_some());
        assert!(!visited.sees_guests());
    });
}

/// The last worker that the pool may have waits for its fork: it may run other jobs only if no guest has taken that.
///
/// Caught: a guest that begins to help when it has stolen; one that ends that before the latch is set; no fence in `are_helping`; a
/// worker that does not look at the latch once more.
#[test]
fn a_worker_whose_fork_a_guest_has_taken_sees_it_help_or_the_end() {
    check(4, || {
        let worker = deque::Worker::new();
        worker.push(());
        let shared = Arc::new((worker.stealer(), Guests::default(), AtomicUsize::new(0)));
        let guest = thread::spawn({
            let shared = shared.clone();
            move || {
                let (forks, guests, latch) = &*shared;
                turn();
                // `Worker::run_stolen_part`.
                guests.begin_help();
                if forks.steal(&deque::Worker::new(), |_, _| 1).is_ok() {
                    turn();
                    latch.store(1, Ordering::Release);
                }
                turn();
                guests.end_help();
            }
        });
        let (_, guests, latch) = &*shared;
        turn();
        // `Worker::sleep_until`, of a wait that is not counted.
        if worker.pop().is_none() {
            turn();
            assert!(guests.are_helping() || latch.load(Ordering::Acquire) == 1);
        }
        guest.join().unwrap();
    });
}
