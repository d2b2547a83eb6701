//! The worker of a pool without threads. The owner of a `LocalPool` acts as this worker in its calls, and while its thread
//! waits; a `threadless` pool has no owner.
//!
//! Between two calls the worker is parked like an idle worker: a submitter picks it, and sets a token that no thread
//! waits for. Unlike other workers it may be parked while work is queued; the pool is not idle then, and does not end.
//! Each call begins like the end of a sleep, by withdrawing or by taking the token, and ends with an announcement.

use core::cell::RefCell;
use core::mem::ManuallyDrop;
use core::time::Duration;
use std::sync::Arc;
use std::task::Waker;

use brigade_observe::{Since, What};
use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::unmodelled::Mutex;
use brigade_sync::{Defer, Stack};

use crate::engine::current;
use crate::engine::enter::{enter_job, entered};
use crate::engine::idle::Parked;
use crate::engine::key::Key;
use crate::engine::roster::{Parking, Roster};
use crate::engine::shared::Shared;
use crate::engine::sleep::backoff::LOOK_AGAIN;
use crate::engine::sleep::events::blocked::BlockedThread;
use crate::engine::worker::{CURRENT, Worker, with_worker};

brigade_sync::scoped_thread_local! {
    /// The worker whose job runs a pool without threads on this thread.
    static BELOW: Worker
}

brigade_sync::unmodelled::thread_local! {
    /// The calling thread's pools without threads, in the order in which they were made. Each pool removes itself. No
    /// destructor, so that the pools are found until the very end of the thread.
    static OWNED: RefCell<ManuallyDrop<Vec<Arc<Driven>>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Calls a closure that waits, with the calling thread's worker, or `None`. During the call the owner of the pool `key`
/// is its worker. Any other thread keeps its worker, or acts as the worker of the newest pool it owns. A wait for a job of a threadless
/// pool [sleeps outside](super::sleep_outside), where it becomes that pool's worker.
pub(crate) fn wait_as<R>(key: Option<Key>, wait: impl FnOnce(Option<&Worker>) -> R) -> R {
    with_worker(|worker| {
        let is_of = |key| worker.is_some_and(|worker| worker.is_of(key));
        let is_worker = key.map_or(worker.is_some(), is_of);
        if is_worker {
            return wait(worker);
        }
        let mut wait = Some(wait);
        let mut call = |worker: Option<&Worker>| wait.take().map(|wait| wait(worker));
        let below = worker.and_then(|worker| worker.as_below(key, |below| call(Some(below))));
        let waited = below.flatten().or_else(|| {
            if key.and_then(Key::if_threadless).is_some() {
                return call(None);
            }
            let owned = key.and_then(owned).or_else(|| owned_by(|_| worker.is_none()))?;
            owned.call(entered().is_none(), |worker| call(Some(worker))).flatten()
        });
        waited.or_else(|| call(worker)).unwrap_or_else(|| unreachable!("it is called once"))
    })
}

/// The pool `key`, if the calling thread owns it and does not run it at the moment.
pub(crate) fn owned(key: Key) -> Option<Arc<Driven>> {
    owned_by(|driven| driven.shared.key == key)
}

/// The newest pool owned by the calling thread, and not run by it at the moment, for which `is_wanted` returns `true`.
fn owned_by(is_wanted: impl Fn(&Driven) -> bool) -> Option<Arc<Driven>> {
    let is_idle = |driven: &Driven| driven.shared.key.is_here() && driven.is_free();
    OWNED.with(|owned| {
        owned.borrow().iter().rev().find(|driven| is_idle(driven) && is_wanted(driven)).cloned()
    })
}

/// The only worker of a pool, without a thread.
pub(crate) struct Driven {
    shared: Arc<Shared>,
    /// `None` once the pool has ended. Locked while a thread acts as the worker.
    worker: Mutex<Option<Worker>>,
    /// Whether a thread acts as the worker, for a thread that only asks: if that took the lock, another that would act could fail to.
    is_used: AtomicBool,
    /// Whether the worker has left.
    has_ended: AtomicBool,
    /// Threads that wait, and would act as the worker of a threadless pool.
    pub(in crate::engine) waiting: Mutex<Vec<Arc<BlockedThread>>>,
}

impl Driven {
    /// Makes the calling thread the owner of a pool without a worker.
    pub(crate) fn of_this_thread(shared: Arc<Shared>) -> Arc<Self> {
        shared.threads.enter();
        let this = Self::new(shared);
        OWNED.with(|owned| owned.borrow_mut().push(this.clone()));
        this
    }

    /// The worker of a pool that has none.
    pub(in crate::engine) fn new(shared: Arc<Shared>) -> Arc<Self> {
        let Some(index) = shared.idle.change(Roster::pick_core) else {
            unreachable!("it is the first one")
        };
        shared.queues.peers.open(index, &shared.config);
        shared.idle.started(index, true);
        let role = shared.idle.arrive(index, false);
        shared.idle.roster().starts.remove(index);
        let worker = Worker::new(shared.clone(), index, role, Stack::default());
        shared.idle.start_search();
        worker.pause();
        let [is_used, has_ended] = [false; 2].map(AtomicBool::new);
        let (worker, waiting) = (Mutex::new(Some(worker)), Mutex::default());
        Arc::new(Self { shared, worker, is_used, has_ended, waiting })
    }

    pub(in crate::engine) fn is_of(&self, key: Key) -> bool {
        self.shared.key == key
    }

    /// The shared state of the pool.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs a job, or a few if more were due before it; returns whether there was any.
    #[track_caller]
    pub(crate) fn tick(&self) -> bool {
        let tick = |worker: &Worker| {
            worker.poll_events();
            worker.step()
        };
        self.run(tick).unwrap_or(false)
    }

    /// Runs jobs until none is left.
    #[track_caller]
    pub(crate) fn run_until_idle(&self) {
        // Timers and events at the end may queue jobs; an event without a job ends the loop.
        self.run(|worker| while worker.step() || (worker.poll_events() && worker.step()) {});
    }

    /// Calls a closure as the worker, as if in a job; `None` if the pool has ended.
    ///
    /// # Panics
    /// If called by a job of the pool, or in a forked child.
    #[track_caller]
    pub(crate) fn run<R>(&self, call: impl FnOnce(&Worker) -> R) -> Option<R> {
        assert!(
            self.shared.key.is_here(),
            "the LocalPool belongs to the process that this one was forked from; make a new one here",
        );
        assert!(
            self.worker.try_lock().is_some(),
            "a LocalPool can't be run by its own jobs and futures; await the future instead",
        );
        self.call(true, call)
    }

    /// Runs jobs until the pool has ended. The pool must be closed.
    pub(crate) fn end(&self) {
        while !self.has_ended() {
            self.call(true, |worker| {
                loop {
                    if worker.step() {
                        continue;
                    }
                    self.shared.idle.start_search();
                    match worker.park_unless(None, &mut || false) {
                        Parked::Search => _ = self.shared.idle.stop_search(),
                        Parked::Leave => return self.leave(),
                    }
                }
            });
        }
        OWNED.with(|owned| {
            let mut owned = owned.borrow_mut();
            owned.retain(|driven| !core::ptr::eq(&**driven, self));
            owned.shrink_to_fit();
        });
        self.finish();
        self.shared.threads.exit();
    }

    /// Notes that the worker has left, on the thread that acts as the worker.
    pub(in crate::engine) fn leave(&self) {
        // Ordering: Relaxed, here and below: the lock of the worker publishes it.
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether no thread acts as the worker.
    pub(in crate::engine) fn is_free(&self) -> bool {
        // Ordering: Relaxed: a thread that waits until it is `true` lists itself before it asks, and the thread that makes it so looks at the list
        // afterwards, each under the list's lock.
        !self.is_used.load(Ordering::Relaxed) && !self.has_ended()
    }

    pub(in crate::engine) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Ends the pool after its worker has left.
    pub(in crate::engine) fn finish(&self) {
        let Some(worker) = self.worker.lock().take() else { return };
        let index = worker.index;
        drop(worker.give_back());
        self.shared.try_terminate();
        self.shared.idle.vacate(index);
        self.shared.tell_of_end();
    }

    /// Makes this thread the worker while a closure runs, as if in a job if it `enters`; `None` if the pool has ended, or a thread acts as
    /// the worker.
    pub(in crate::engine) fn call<R>(
        &self,
        enters: bool,
        call: impl FnOnce(&Worker) -> R,
    ) -> Option<R> {
        let worker = self.worker.try_lock()?;
        let worker = worker.as_ref().filter(|_| !self.has_ended())?;
        self.is_used.store(true, Ordering::Relaxed);
        let _used = Defer(|| self.is_used.store(false, Ordering::Relaxed));
        let call = || {
            match worker.withdraw() {
                Parked::Leave => {
                    self.leave();
                    return None;
                }
                Parked::Search => _ = self.shared.idle.stop_search(),
            }
            let _pause = Defer(|| {
                // In a forked child the roster's lock may be held forever.
                if !self.has_ended() && self.shared.key.is_here() {
                    self.shared.idle.start_search();
                    worker.pause();
                }
            });
            Some(call(worker))
        };
        let (key, index) = (self.shared.key, worker.index);
        let call = || current::work_as(key, index, || CURRENT.set(worker, call));
        let call = || match enters {
            true => self.shared.events.resources.enter(|| enter_job(&self.shared, call)),
            false => call(),
        };
        let called = with_worker(|below| match below {
            // The owner is a worker of a second pool, which may have a thread in its place.
            Some(below) => {
                let _blocked = below.block_below();
                BELOW.set(below, call)
            }
            None => call(),
        });
        if self.shared.key.is_here() && self.shared.idle.snapshot().terminated() {
            // Only now: as the pool's worker, this thread could not cancel pending futures.
            self.shared.cancel_locals(&worker.me);
        }
        called
    }
}

impl Worker {
    /// Calls a closure that waits as the worker of the pool `key` whose job runs this pool, if it is a pool without threads: no other thread
    /// runs its jobs.
    fn as_below<R>(&self, key: Option<Key>, call: impl FnOnce(&Self) -> R) -> Option<R> {
        let is_it = |below: &&Self| {
            let shared = &below.shared;
            shared.config.is_driven && Some(shared.key) == key
        };
        let act = |below: &Self| self.act_as(below, || enter_job(&below.shared, || call(below)));
        BELOW.with(|below| below.filter(is_it).map(act))
    }

    /// Calls a closure as the worker below. This worker is the one below meanwhile, so a wait in the closure for a job of its pool finds it.
    fn act_as<R>(&self, below: &Self, call: impl FnOnce() -> R) -> R {
        let Worker { shared, index, .. } = &below;
        let call = || shared.events.resources.enter(call);
        current::work_as(shared.key, *index, || BELOW.set(self, || CURRENT.set(below, call)))
    }

    /// Runs mail of the worker whose job runs this pool, or a job of that pool if it has no threads either: no other thread may. `false` if
    /// there is none.
    pub(in crate::engine) fn run_below(&self) -> bool {
        let is_driven = |worker: &Self| worker.shared.config.is_driven;
        let step = |below: &Self| if is_driven(below) { below.run_one() } else { below.run_mail() };
        let run = |below: &Self| self.act_as(below, || step(below));
        let has_some = |below: &&Self| is_driven(below) || !below.me.mailbox.is_empty();
        is_driven(self) && BELOW.with(|below| below.filter(has_some).is_some_and(run))
    }

    /// How long a wait above a job of another pool without threads sleeps before it looks for that pool's jobs. No submitter wakes it for them.
    pub(in crate::engine) fn patience_below(&self) -> Option<Duration> {
        let is_driven = |worker: &Self| worker.shared.config.is_driven;
        let looks = is_driven(self) && BELOW.with(|below| below.is_some_and(is_driven));
        looks.then_some(LOOK_AGAIN)
    }

    /// Makes mail of that worker wake a thread; `true` if there is some.
    pub(in crate::engine) fn wakes_for_mail_below(&self, thread: &Arc<BlockedThread>) -> bool {
        let has_mail = |below: &Self| !below.me.mailbox.wake_by(Waker::from(thread.clone()));
        self.shared.config.is_driven
            && self.may_run_mail()
            && BELOW.with(|below| below.is_some_and(has_mail))
    }

    /// Parks as a searcher until the owner's next call.
    fn pause(&self) {
        let shared = &self.shared;
        self.tell(What::Parked { holds_driver: false, since: Since::Running });
        let parking = Parking { index: self.index, ..Parking::default() };
        if shared.idle.announce(parking).may_terminate {
            shared.try_terminate();
        }
    }
}
