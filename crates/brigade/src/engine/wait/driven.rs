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

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::unmodelled::Mutex;
use brigade_sync::{Defer, Stack};

use crate::engine::enter::{enter_job, entered};
use crate::engine::idle::Parked;
use crate::engine::key::Key;
use crate::engine::roster::{Parking, Roster};
use crate::engine::shared::Shared;
use crate::engine::sleep::backoff::LOOK_AGAIN;
use crate::engine::sleep::events::blocked::BlockedThread;
use crate::engine::what::{Since, What};
use crate::engine::worker::{CURRENT, Worker, with_member};

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

/// As [`wait_as`](super::driven_pools::wait_as), on a thread that is no worker of the pool `key`; `false` if the thread can act as no other worker.
pub(super) fn wait_as_other(
    key: Option<Key>,
    worker: Option<&Worker>,
    wait: &mut dyn FnMut(Option<&Worker>),
) -> bool {
    if worker.is_some_and(|worker| worker.wait_as_below(key, wait)) {
        return true;
    }
    if key.and_then(Key::if_threadless).is_some() {
        wait(None);
        return true;
    }
    let mut owner = key.and_then(|key| newest_owned(Some(key)));
    if owner.is_none() && worker.is_none() {
        owner = newest_owned(None);
    }
    owner.is_some_and(|owner| owner.call(entered().is_none(), &mut |worker| wait(Some(worker))))
}

/// Calls a closure as the worker of the pool `key`, if the thread owns it and it has not ended; `false` if the thread does not own it.
pub(super) fn run_owned(key: Key, call: &mut dyn FnMut(&Worker)) -> bool {
    newest_owned(Some(key)).map(|driven| driven.run(call)).is_some()
}

/// The newest pool owned by the calling thread, and not run by it at the moment, of this key or any.
pub(super) fn newest_owned(key: Option<Key>) -> Option<Arc<Driven>> {
    OWNED.with(|owned| {
        for driven in owned.borrow().iter().rev() {
            let of = driven.shared.key;
            if of.is_here() && driven.is_free() && key.is_none_or(|key| key == of) {
                return Some(driven.clone());
            }
        }
        None
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
        Arc::new(Self {
            shared,
            worker: Mutex::new(Some(worker)),
            is_used: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            waiting: Mutex::default(),
        })
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
        let mut has_run = false;
        self.run(&mut |worker| {
            worker.poll_events();
            has_run = worker.step();
        });
        has_run
    }

    /// Runs jobs until none is left.
    #[track_caller]
    pub(crate) fn run_until_idle(&self) {
        // Timers and events at the end may queue jobs; an event without a job ends the loop.
        self.run(&mut |worker| while worker.step() || (worker.poll_events() && worker.step()) {});
    }

    /// Calls a closure as the worker, as if in a job; `false` if the pool has ended.
    ///
    /// # Panics
    /// If called by a job of the pool, or in a forked child.
    #[track_caller]
    pub(crate) fn run(&self, call: &mut dyn FnMut(&Worker)) -> bool {
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
            self.call(true, &mut |worker| {
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
            self.leave_list(&mut owned);
            owned.shrink_to_fit();
        });
        self.finish();
        self.shared.threads.exit();
    }

    /// Removes itself from a list.
    pub(super) fn leave_list(&self, list: &mut Vec<Arc<Self>>) {
        list.retain(|driven| !core::ptr::eq(&**driven, self));
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

    /// Makes this thread the worker while a closure runs, as if in a job if it `enters`; `false` if the pool has ended, or a thread acts as
    /// the worker.
    pub(in crate::engine) fn call(&self, enters: bool, call: &mut dyn FnMut(&Worker)) -> bool {
        let Some(worker) = self.worker.try_lock() else { return false };
        let Some(worker) = &*worker else { return false };
        if self.has_ended() {
            return false;
        }
        self.is_used.store(true, Ordering::Relaxed);
        let _used = Defer(|| self.is_used.store(false, Ordering::Relaxed));
        let mut called = false;
        let mut act = || called = self.act(worker, call);
        let act: &mut dyn FnMut() = &mut || CURRENT.set::<()>(worker, &mut act as &mut dyn FnMut());
        let act: &mut dyn FnMut() = &mut || {
            if enters {
                self.shared.events.resources.enter(|| enter_job(&self.shared, &mut *act));
            } else {
                act();
            }
        };
        with_member(|below| match below {
            // The owner is a worker of a second pool, which may have a thread in its place.
            Some(below) => {
                let _blocked = below.block_below();
                BELOW.set(below, act);
            }
            None => act(),
        });
        if self.shared.key.is_here() && self.shared.idle.snapshot().terminated() {
            // Only now: as the pool's worker, this thread could not cancel pending futures.
            self.shared.cancel_locals(&worker.me);
        }
        called
    }

    /// Calls a closure between two pauses of the worker; `false` if the pool has ended.
    fn act(&self, worker: &Worker, call: &mut dyn FnMut(&Worker)) -> bool {
        if let Parked::Leave = worker.withdraw() {
            self.leave();
            return false;
        }
        _ = self.shared.idle.stop_search();
        let _pause = Defer(|| {
            // In a forked child the roster's lock may be held forever.
            if !self.has_ended() && self.shared.key.is_here() {
                self.shared.idle.start_search();
                worker.pause();
            }
        });
        call(worker);
        true
    }
}

impl Worker {
    /// Calls a closure that waits as the worker of the pool `key` whose job runs this pool, if it is a pool without threads: no other thread
    /// runs its jobs. `false` if it is none.
    fn wait_as_below(&self, key: Option<Key>, wait: &mut dyn FnMut(Option<&Self>)) -> bool {
        BELOW.with(|below| match below {
            Some(below) if below.shared.config.is_driven && Some(below.shared.key) == key => {
                self.act_as(below, &mut || enter_job(&below.shared, || wait(Some(below))));
                true
            }
            _ => false,
        })
    }

    /// Calls a closure as the worker below. This worker is the one below meanwhile, so a wait in the closure for a job of its pool finds it.
    fn act_as(&self, below: &Self, call: &mut dyn FnMut()) {
        let call = || below.shared.events.resources.enter(call);
        BELOW.set(self, || CURRENT.set(below, call));
    }

    /// Runs mail of the worker whose job runs this pool, or a job of that pool if it has no threads either: no other thread may. `false` if
    /// there is none.
    pub(super) fn run_below(&self) -> bool {
        BELOW.with(|below| {
            let Some(below) = below else { return false };
            let (is_driven, mut has_run) = (below.shared.config.is_driven, false);
            if is_driven || !below.me.mailbox.is_empty() {
                self.act_as(below, &mut || {
                    has_run = if is_driven { below.run_one() } else { below.run_mail() };
                });
            }
            has_run
        })
    }

    /// How long a wait above a job of another pool without threads sleeps before it looks for that pool's jobs. No submitter wakes it for them.
    pub(in crate::engine) fn patience_below(&self) -> Option<Duration> {
        let is_driven = |worker: &Self| worker.shared.config.is_driven;
        let looks = is_driven(self) && BELOW.with(|below| below.is_some_and(is_driven));
        if looks { Some(LOOK_AGAIN) } else { None }
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
