//! The worker of a pool without threads, which the pool's owner is in its calls, and while its thread waits for anything.
//!
//! Between two calls the worker is parked like any other that has nothing to do: a submitter picks it, and sets a token that
//! nothing waits for. Unlike any other it may be parked while work is queued; so the pool is not idle then, and does not end.
//! Each call begins as a sleep ends, by withdrawing or by taking the token, and ends with an announcement.

use core::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::{CURRENT, Worker, blocking};
use crate::engine::core::Core;
use crate::engine::core::enter::{enter_job, entered};
use crate::engine::current;
use crate::engine::idle::Parked;
use crate::engine::key::Key;
use crate::engine::probe::Event;

brigade_sync::unmodelled::thread_local! {
    /// The pools of the calling thread that have no other worker, in the order in which they were made.
    static OWNED: RefCell<Vec<Rc<Driven>>> = const { RefCell::new(Vec::new()) };
}

/// Calls a closure that waits, with the worker that the calling thread is meanwhile, or `None`. The owner of the pool with that key is its
/// worker. Any other thread stays the worker that it is, or is the worker of the newest pool that it owns.
pub(crate) fn wait_as<R>(key: Option<Key>, wait: impl FnOnce(Option<&Worker>) -> R) -> R {
    CURRENT.with(|worker| {
        let is_worker = worker.is_some_and(|worker| key.is_none_or(|key| worker.is_of(key)));
        let find = || key.and_then(owned).or_else(|| owned_by(|_| worker.is_none()));
        let owned = if is_worker { None } else { find() };
        let Some(driven) = owned else { return wait(worker) };
        let mut wait = Some(wait);
        let mut call = |worker: Option<&Worker>| wait.take().map(|wait| wait(worker));
        let waited = driven.call(entered().is_none(), |worker| call(Some(worker))).flatten();
        waited.or_else(|| call(worker)).unwrap_or_else(|| unreachable!("it is called once"))
    })
}

/// The pool with that key, if the calling thread owns it and does not run it at the moment.
pub(crate) fn owned(key: Key) -> Option<Rc<Driven>> {
    owned_by(|driven| driven.core.key == key)
}

/// The newest pool that the calling thread owns and does not run at the moment, and for which `is_wanted` returns `true`.
fn owned_by(is_wanted: impl Fn(&Driven) -> bool) -> Option<Rc<Driven>> {
    let is_idle = |driven: &Driven| {
        driven.core.key.is_here()
            && driven.worker.try_borrow_mut().is_ok_and(|worker| worker.is_some())
    };
    let find = |owned: &RefCell<Vec<Rc<Driven>>>| {
        owned.borrow().iter().rev().find(|driven| is_idle(driven) && is_wanted(driven)).cloned()
    };
    OWNED.try_with(find).ok().flatten()
}

/// The only worker of a pool, without a thread of its own.
pub(crate) struct Driven {
    core: Arc<Core>,
    /// `None` once the pool has ended. Borrowed while the owner is in a call.
    worker: RefCell<Option<Worker>>,
    /// The worker has left.
    has_ended: Cell<bool>,
}

impl Driven {
    /// Makes the calling thread the owner of a pool that has no worker.
    pub(crate) fn new(core: Arc<Core>) -> Rc<Self> {
        let Some(index) = core.idle.pick_core() else { unreachable!("it is the first one") };
        core.queues.peers.open(index, &core.config);
        core.threads.enter();
        core.idle.started(index, true);
        core.idle.arrive(index, false);
        core.idle.begin(index);
        let worker = Worker::at(core.clone(), index);
        core.idle.start_search();
        worker.pause();
        let (worker, has_ended) = (RefCell::new(Some(worker)), Cell::new(false));
        let this = Rc::new(Self { core, worker, has_ended });
        // While the thread ends, its waits don't run the pool.
        _ = OWNED.try_with(|owned| owned.borrow_mut().push(this.clone()));
        this
    }

    /// What the pool shares.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Runs one job, or a few if others were due before it, and returns whether there was one.
    #[track_caller]
    pub(crate) fn tick(&self) -> bool {
        let tick = |worker: &Worker| {
            worker.poll_events();
            worker.step()
        };
        self.run(tick).unwrap_or(false)
    }

    /// Runs jobs until there is none.
    #[track_caller]
    pub(crate) fn run_until_idle(&self) {
        // What is due at the end may have jobs; an event that wakes none is no reason to go on.
        self.run(|worker| while worker.step() || (worker.poll_events() && worker.step()) {});
    }

    /// Calls a closure as the worker, as if in a job; `None` if the pool has ended.
    ///
    /// # Panics
    /// If a job of the pool calls it.
    #[track_caller]
    pub(crate) fn run<R>(&self, call: impl FnOnce(&Worker) -> R) -> Option<R> {
        assert!(
            self.core.key.is_here(),
            "the LocalPool belongs to the process that this one was forked from; make a new one here",
        );
        assert!(
            self.worker.try_borrow_mut().is_ok(),
            "a LocalPool can't be run by its own jobs and futures; await the future instead",
        );
        self.call(true, call)
    }

    /// Runs jobs until the pool, which has been closed, has ended.
    pub(crate) fn end(&self) {
        while !self.has_ended.get() {
            self.call(true, |worker| {
                loop {
                    if worker.step() {
                        continue;
                    }
                    self.core.idle.start_search();
                    match worker.park() {
                        Parked::Search => _ = self.core.idle.stop_search(),
                        Parked::Leave => return self.has_ended.set(true),
                    }
                }
            });
        }
        let Some(worker) = self.worker.take() else { return };
        let index = worker.index;
        _ = OWNED
            .try_with(|owned| owned.borrow_mut().retain(|driven| !core::ptr::eq(&**driven, self)));
        self.core.cancel_locals(&worker.me);
        drop(worker.give_back());
        // As the pool's worker this thread could not cancel what still waits.
        self.core.settle();
        self.core.idle.vacate(index);
        self.core.threads.exit();
    }

    /// Makes the owner the worker while a closure runs, unless the pool has ended; as if in a job if it `enters`.
    fn call<R>(&self, enters: bool, call: impl FnOnce(&Worker) -> R) -> Option<R> {
        let worker = self.worker.borrow();
        let worker = worker.as_ref().filter(|_| !self.has_ended.get())?;
        let call = || {
            match worker.withdraw() {
                Parked::Leave => {
                    self.has_ended.set(true);
                    return None;
                }
                Parked::Search => _ = self.core.idle.stop_search(),
            }
            worker.me.counters.awake.wakes_up();
            let _pause = Pause { worker, has_ended: &self.has_ended };
            Some(call(worker))
        };
        let call = || current::work_as(self.core.key, worker.index, || CURRENT.set(worker, call));
        // The owner may be a worker of another pool, which may have another one in its place.
        blocking(|| match enters {
            true => self.core.resources.enter(|| enter_job(&self.core, call)),
            false => call(),
        })
    }
}

impl Worker {
    /// Parks as a searcher until the owner's next call.
    fn pause(&self) {
        self.tell(Event::Sleeps(false));
        let announced = self.core.idle.announce(self.index, false, false);
        if announced.settles {
            self.core.settle();
        }
    }
}

/// Parks the worker at the end of the owner's call.
struct Pause<'a> {
    worker: &'a Worker,
    has_ended: &'a Cell<bool>,
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.worker.me.counters.awake.falls_asleep();
        // In a forked child the roster's lock may be held forever.
        if !self.has_ended.get() && self.worker.core.key.is_here() {
            self.worker.core.idle.start_search();
            self.worker.pause();
        }
    }
}
