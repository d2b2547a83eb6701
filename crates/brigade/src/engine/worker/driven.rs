//! The worker of a pool without threads, which the pool's owner is now and then.
//!
//! Between two calls the worker is parked like any other that has nothing to do: a submitter picks it, and sets a token that
//! nothing waits for. Unlike any other it may be parked while work is queued; so the pool is not idle then, and does not end.
//! Each call begins as a sleep ends, by withdrawing or by taking the token, and ends with an announcement.
//!
//! While the owner waits for a future of its own, the worker [dozes](super::doze) in its sleeps. The future's waker sets a flag and
//! then picks the worker; the worker announces itself and then looks at the flag. Both take the crew's lock in between, so one of
//! the two sees the other.

use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::{Wake, Waker};

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::budget::poll_limited;
use brigade_task::Job;

use super::class::Row;
use super::park::Parked;
use super::{CURRENT, FORKING, Worker, blocking};
use crate::engine::core::{Caller, Core};
use crate::engine::current;
use crate::engine::enter::enter_job;
use crate::key::Key;

brigade_sync::unmodelled::thread_local! {
    /// How many pools of the calling thread have no other worker.
    static OWNED: Cell<usize> = const { Cell::new(0) };
}

/// Whether the calling thread is the owner of that pool, which has no threads, and is not its worker at the moment.
pub(crate) fn owns(key: Key) -> bool {
    let is_owner = |core: Arc<Core>| core.config.is_driven && core.threads.is_own();
    OWNED.try_with(Cell::get).is_ok_and(|owned| owned > 0)
        && !current::is_worker_of(key)
        && Core::find(key).is_some_and(is_owner)
}

/// The only worker of a pool, without a thread of its own.
pub(crate) struct Driven {
    core: Arc<Core>,
    /// `None` once the pool has ended.
    worker: Option<Worker>,
    /// Whether the owner is in a call.
    runs: Cell<bool>,
    has_ended: Cell<bool>,
}

/// What the owner does next in a call.
enum Next {
    /// Runs a job, or waits if there is none.
    Wait,
    /// Runs a job, or returns if there is none.
    Run,
    /// Returns.
    Return,
}

impl Driven {
    /// Makes the calling thread the owner of a pool that has no worker.
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let Some(index) = core.idle.pick_core() else { unreachable!("it is the first one") };
        core.queues.peers.open(index, &core.config);
        core.threads.adopt();
        core.idle.started(index);
        core.idle.arrive(index);
        core.idle.begin(index);
        let worker = Worker::at(core.clone(), index, false);
        worker.is_new.set(false);
        core.idle.start_search();
        worker.pause();
        OWNED.with(|owned| owned.set(owned.get() + 1));
        Self { core, worker: Some(worker), runs: Cell::new(false), has_ended: Cell::new(false) }
    }

    /// What the pool shares.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Runs one job, or a few if others were due before it, and returns whether there was one.
    #[track_caller]
    pub(crate) fn tick(&self) -> bool {
        let (looked, ran) = (Cell::new(false), Cell::new(false));
        let next = || {
            ran.set(looked.replace(true));
            if ran.get() { Next::Return } else { Next::Run }
        };
        self.call(|worker| {
            worker.poll_events();
            self.drive(worker, next, || false);
        });
        ran.get()
    }

    /// Runs jobs until there is none.
    #[track_caller]
    pub(crate) fn run_until_idle(&self) {
        self.call(|worker| self.drive(worker, || Next::Run, || false));
    }

    /// Runs jobs until the future is ready; `None` if the pool has ended before that.
    #[track_caller]
    pub(crate) fn run_until<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let mut output = None;
        self.call(|worker| {
            let (core, index) = (self.core.clone(), worker.index);
            let call = Arc::new(Call { core, index, is_woken: AtomicBool::new(true) });
            let waker = Waker::from(call.clone());
            let mut poll =
                || poll_limited(|| future.as_mut().poll(&mut Context::from_waker(&waker))).0;
            let next = || {
                if call.is_woken.swap(false, Ordering::SeqCst) {
                    if let Poll::Ready(ready) = poll() {
                        output = Some(ready);
                        return Next::Return;
                    }
                }
                Next::Wait
            };
            let _doze = Doze::begin(&self.core);
            self.drive(worker, next, || call.is_woken.load(Ordering::SeqCst));
        });
        output
    }

    /// Runs jobs until the pool, which has been closed, has ended.
    pub(crate) fn end(&mut self) {
        while !self.has_ended.get() {
            self.call(|worker| self.drive(worker, || Next::Wait, || false));
        }
        let Some(worker) = self.worker.take() else { return };
        let index = worker.index;
        self.core.cancel_locals(&worker.me);
        drop(worker.give_back());
        self.core.idle.vacate(index);
        // As the pool's worker this thread could not cancel what still waits.
        self.core.settle();
        self.core.threads.leave();
        self.core.threads.exit();
        OWNED.with(|owned| owned.set(owned.get() - 1));
    }

    /// In a forked child: leaks what the parent's owner was working on.
    pub(crate) fn leak(&mut self) {
        core::mem::forget((self.core.clone(), self.worker.take()));
    }

    /// Makes the owner the worker while `drive` runs, unless the pool has ended.
    #[track_caller]
    fn call(&self, drive: impl FnOnce(&Worker)) {
        assert!(
            self.core.key.is_here(),
            "the LocalPool belongs to the process that this one was forked from; make a new one here",
        );
        assert!(
            !self.runs.get(),
            "a LocalPool can't be run by its own jobs and futures; await the future instead",
        );
        let Some(worker) = self.worker.as_ref().filter(|_| !self.has_ended.get()) else { return };
        let drive = || {
            match worker.withdraw() {
                Parked::Leave => return self.has_ended.set(true),
                Parked::Search => _ = self.core.idle.stop_search(),
                Parked::Run(job) => worker.run_here_contained(job),
            }
            let _pause = Pause { worker, has_ended: &self.has_ended };
            drive(worker);
        };
        let drive = || CURRENT.set(worker, || FORKING.set(worker, drive));
        let drive = || current::work_as(self.core.key, worker.index, drive);
        self.runs.set(true);
        let _runs = Runs(&self.runs);
        // The owner may be a worker of another pool, which may have another one in its place.
        blocking(|| self.core.resources.enter(|| enter_job(&self.core, drive)));
    }

    /// Runs jobs for as long as `next` says. It sleeps only if `is_over` is not so at its last look; see
    /// [`park_unless`](Worker::park_unless).
    fn drive(&self, worker: &Worker, mut next: impl FnMut() -> Next, is_over: impl Fn() -> bool) {
        loop {
            let next = next();
            if matches!(next, Next::Return) {
                return;
            }
            worker.end_if_orphan();
            if worker.step() {
                continue;
            }
            if matches!(next, Next::Run) {
                // What is due now may have jobs; an event that wakes none is no reason to go on.
                match worker.poll_events() && worker.step() {
                    true => continue,
                    false => return,
                }
            }
            self.core.idle.start_search();
            match worker.park_unless(&is_over) {
                Parked::Search => _ = self.core.idle.stop_search(),
                Parked::Run(job) => worker.run_here_contained(job),
                Parked::Leave => return self.has_ended.set(true),
            }
        }
    }
}

impl Worker {
    /// Parks as a searcher until the owner's next call.
    fn pause(&self) {
        self.trace_park(None);
        let announced = self.core.idle.announce(self.index, false);
        if announced.duty.is_some() {
            self.core.idle.give_up_duty(self.index);
        }
        if announced.settles {
            self.core.settle();
        }
    }

    /// Runs the next job, after those that are due before it; `false` if there is none.
    fn step(&self) -> bool {
        let step = || {
            let mut has_run = false;
            if self.core.idle.snapshot().is_prioritized() && self.run_high() {
                return true;
            }
            if self.pace.is_due() {
                let looks = self.pace.looks();
                self.look_elsewhere(Row::Over);
                has_run = self.pace.looks().wrapping_sub(looks) > 1;
                // As in `turns`.
                self.pace.end_turn();
            }
            match self.local.pop() {
                Some(job) => self.run(job),
                None => match self.find_now() {
                    Some(job) => self.run_found(job),
                    None => return has_run,
                },
            }
            true
        };
        panic::catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|payload| {
            self.panicked(payload);
            true
        })
    }

    fn run_here_contained(&self, job: Job) {
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| self.run_found(job))) {
            self.panicked(payload);
        }
    }
}

/// Ends the owner's call.
struct Runs<'a>(&'a Cell<bool>);

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Parks the worker at the end of the owner's call.
struct Pause<'a> {
    worker: &'a Worker,
    has_ended: &'a Cell<bool>,
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        // In a forked child the crew's lock may be held forever.
        if !self.has_ended.get() && self.worker.core.key.is_here() {
            self.worker.core.idle.start_search();
            self.worker.pause();
        }
    }
}

/// Keeps the pool from its end while its owner waits for a future.
struct Doze<'a>(&'a Core);

impl<'a> Doze<'a> {
    fn begin(core: &'a Core) -> Self {
        core.idle.begin_doze();
        Self(core)
    }
}

impl Drop for Doze<'_> {
    fn drop(&mut self) {
        if self.0.key.is_here() {
            self.0.idle.end_doze();
        }
    }
}

/// Wakes the worker for the future that the owner waits for.
struct Call {
    core: Arc<Core>,
    index: usize,
    is_woken: AtomicBool,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Ordering: SeqCst as the worker's accesses; the crew's lock orders this store with its last look.
        if self.is_woken.swap(true, Ordering::SeqCst) || !self.core.key.is_here() {
            return;
        }
        if self.core.idle.pick_this(self.index) {
            self.core.wake(self.index, Caller::MayStop);
        }
    }
}
