//! How a worker waits inside a job. `engine/wait/WAITS.md` has the rules, and why waits end.

pub(super) mod blocked;
pub(super) mod driven;
pub(super) mod driven_pools;
pub(super) mod held;
pub(super) mod outside;
pub(super) mod threadless;

use core::time::Duration;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

use blocked::runs_in_place;
use brigade_sync::{Defer, time};
use brigade_task::keep_tickets;
use driven::Driven;
use driven_pools::driven_pools;
use threadless::is_any_free;

use crate::engine::end::off_pool::{begin_wait, end_wait, is_off_pool};
use crate::engine::futures::groups::Group;
use crate::engine::idle::Parked;
use crate::engine::key::Key;
use crate::engine::shared::Shared;
use crate::engine::sleep::backoff::Backoff;
use crate::engine::sleep::events::blocked::{BlockedThread, Elsewhere, ThisThread};
use crate::engine::worker::Worker;

/// A wait of a job on a worker: how it ends, and which parts may run meanwhile.
pub(crate) trait Awaited {
    /// Whether the worker searches for parts for a while before it sleeps.
    fn backs_off(&self) -> bool {
        false
    }

    /// Whether the wait is over.
    fn is_over(&mut self) -> bool;

    /// Registers a thread, in place of any earlier waker, to be woken when the wait may be over. Returns `false` if the
    /// wait is over already.
    fn register(&mut self, thread: &Arc<BlockedThread>) -> bool;

    /// When the wait ends even if it is not over.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The parker of the waiting thread, if the wait has one already.
    fn thread(&self) -> Option<&Arc<BlockedThread>> {
        None
    }

    /// How long the worker sleeps before it looks again without a wake-up: the awaited future is queued, and the
    /// program may block all threads that could poll it.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// The pool whose jobs alone end the wait.
    fn pool(&self) -> Option<Key>;

    /// Notes that the worker has slept or run a job, and whether it took a token.
    fn slept(&mut self, has_token: bool) {
        let _ = has_token;
    }

    /// Runs a part that the wait depends on, if this worker may begin one; `false` if there is none.
    fn run_part(&mut self, worker: &Worker) -> bool {
        let _ = worker;
        false
    }
}

/// Wakes a worker parked inside a job.
pub(in crate::engine) struct Call {
    pub(in crate::engine) shared: Arc<Shared>,
    pub(in crate::engine) index: usize,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let Self { shared, index } = &*self;
        // In a child forked by the job, the roster's lock may be held forever.
        if shared.key.is_here() && shared.idle.change(|roster| roster.pick_this(*index)) {
            shared.wake(*index);
        }
    }
}

/// A thread in the lists of pools without threads, and these pools.
type Beside<'a> = Option<(&'a Arc<BlockedThread>, &'a [Arc<Driven>])>;

/// Whether no thread acts as the worker of one of these pools.
fn is_free(beside: Beside<'_>) -> bool {
    beside.is_some_and(|(_, pools)| is_any_free(pools))
}

impl Worker {
    /// Counts jobs as inside the current job until the returned value is dropped.
    pub(crate) fn run_inside_job(&self) -> Defer<impl FnMut()> {
        self.nesting.waits.set(self.depth() + 1);
        Defer(|| self.nesting.waits.set(self.depth() - 1))
    }

    /// The number of waits on this worker's stack that run jobs.
    pub(in crate::engine) fn depth(&self) -> usize {
        self.nesting.waits.get()
    }

    /// Waits inside the running job. Meanwhile runs parts that the wait depends on, and the worker's mail, or any job
    /// if no other worker is left to run jobs.
    pub(crate) fn run_until(&self, awaited: &mut dyn Awaited) {
        self.run_beside(awaited, None);
    }

    /// Like [`run_until`](Self::run_until), by a thread in the lists of pools without threads: until one of them is free, too.
    fn run_beside(&self, awaited: &mut dyn Awaited, beside: Beside<'_>) {
        let (runs, mut backoff, mut own) = (runs_in_place(), Backoff::default(), None);
        if let Some(thread) = beside.map(|(thread, _)| thread).or(awaited.thread()) {
            thread.lie_under_jobs(true);
        }
        self.note_polling(false);
        while !has_ended(awaited) && !is_free(beside) {
            // In a forked child the awaited job belongs to the parent.
            self.end_if_orphan();
            // While the job unwinds, only mail: no other thread may run it.
            let runs_anything = runs && self.runs_anything();
            if (runs && awaited.run_part(self))
                || if runs_anything { self.run_one() } else { self.run_mail_in_turn() }
            {
                backoff = Backoff::default();
                // At this worker's pace, that polls events, too.
                awaited.slept(false);
            } else if !(awaited.backs_off() && runs && backoff.snooze()) {
                held::release();
                self.sleep_until(awaited, beside, &mut own, runs_anything);
            }
        }
        held::acquire_again();
    }

    /// Whether a wait runs any job of the pool, whichever other threads there are.
    fn runs_anything(&self) -> bool {
        self.shared.config.waits_run_anything() && !self.is_guest() && !self.is_deep()
    }

    /// Lets other jobs run in a wait whose future yields: the worker's mail, or any job if no other thread is left to
    /// run jobs.
    pub(crate) fn give_way(&self) {
        if self.is_guest() {
            return;
        }
        // No other thread may fire timers.
        self.poll_events();
        let is_last = self.runs_anything() || self.block_to_wait(false).is_none();
        _ = if is_last && runs_in_place() { self.run_one() } else { self.run_mail() };
    }

    /// Sleeps until the wait may be over, or this worker has something to run.
    #[cold]
    fn sleep_until(
        &self,
        awaited: &mut dyn Awaited,
        beside: Beside<'_>,
        own: &mut Option<ThisThread>,
        runs_anything: bool,
    ) {
        let thread = beside.map_or_else(|| thread_of(awaited, own), |(thread, _)| thread.clone());
        let outer = self.nesting.innermost.replace(Some(thread.clone()));
        thread.lie_under_jobs(false);
        if awaited.register(&thread) && !is_free(beside) && !self.wakes_for_mail_below(&thread) {
            let until = self.wakes_at(awaited);
            let pool = awaited.pool();
            let is_own = pool.is_some_and(|key| self.is_of(key));
            let slept = waits_for(pool, &mut || {
                if self.is_guest() {
                    let _rest = self.rest();
                    if self.shared.is_held_up() {
                        self.shared.cancel_waiting();
                    }
                    return thread.park(until.map(time::until));
                }
                let slept =
                    if runs_anything { None } else { self.sleep_blocked(&thread, until, is_own) };
                slept.unwrap_or_else(|| self.run_or_park(&thread, until, is_own))
            });
            awaited.slept(slept);
        }
        // Until its next registration, jobs may run above it.
        thread.lie_under_jobs(true);
        self.nesting.innermost.set(outer);
    }

    /// When a wait looks again, at the latest.
    pub(in crate::engine) fn wakes_at(&self, awaited: &dyn Awaited) -> Option<Instant> {
        let patience = time::earlier(awaited.patience(), self.patience_below());
        let looks_at = patience.and_then(|time| time::try_now()?.checked_add(time));
        time::earlier(looks_at, awaited.deadline())
    }

    /// Runs a job of the pool inside the current job. Without one, parks as an idle worker until there is a job or a
    /// token, or until the given time; returns whether there was a token.
    #[cold]
    fn run_or_park(&self, thread: &BlockedThread, until: Option<Instant>, is_own: bool) -> bool {
        thread.lie_under_jobs(true);
        // The token may be that of the call. It stays for the end of the wait.
        if !thread.take_call() && thread.take_token() {
            return true;
        }
        if self.run_one() {
            return false;
        }
        thread.lie_under_jobs(false);
        let _inside = self.run_inside_job();
        let call = Call { shared: self.shared.clone(), index: self.index };
        *thread.elsewhere.lock() = Some(Elsewhere::Worker(Waker::from(Arc::new(call))));
        let slept = thread.spot.sleep_elsewhere(|| {
            self.shared.idle.start_search();
            self.shared.idle.roster().waits.begin_parked(is_own);
            let waits = Defer(|| {
                // In a forked child the roster's lock may be held forever.
                if self.shared.key.is_here() {
                    self.shared.idle.roster().waits.end_parked(is_own);
                }
            });
            // A token, not `is_over`, which may count ended jobs: the waker has been told how many are left.
            let parked = self.park_unless(until, &mut || thread.has_token());
            drop(waits);
            match parked {
                Parked::Search => self.end_search(),
                Parked::Leave => unreachable!("the pool does not end while a job waits"),
            }
        });
        *thread.elsewhere.lock() = None;
        thread.lie_under_jobs(true);
        // A job that was handed to this worker because it was parked does not wait for the job below.
        _ = slept.is_ok() && self.run_mail_in_turn();
        slept.is_err() || thread.take_token()
    }

    /// Runs mail in its turn, because local futures that wake each other are always there; `false` if there is none.
    #[inline]
    fn run_mail_in_turn(&self) -> bool {
        let Worker { shared, me, .. } = self;
        let has_run = (!me.mailbox.is_empty() || shared.config.is_driven) && self.run_mail();
        if has_run {
            self.count_turn();
        }
        has_run
    }

    /// Counts a future that may be woken at once, or a share, run inside a wait. At the worker's pace lets other jobs,
    /// timers and events have their turn.
    #[inline]
    fn count_turn(&self) {
        let pace = &self.pace;
        pace.count();
        if pace.is_due_next() {
            self.give_way();
            // Unless this worker has just looked elsewhere, as the last thread.
            if pace.is_due_next() && pace.is_due() {
                pace.look();
            }
        }
    }

    /// Polls a future of the awaited group that was woken on this worker and is still queued; `false` if there is none.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_member(&self, group: Group) -> bool {
        while let Some(task) = self.take_member(group) {
            let inside = self.run_inside_job();
            if self.run_in_place(|stop| task.settle_if_queued(stop)) {
                drop(inside);
                self.end_if_orphan();
                self.count_turn();
                return true;
            }
        }
        false
    }

    /// Runs a woken local future, or a share of this worker; `false` if there is none.
    #[cold]
    pub(in crate::engine) fn run_mail(&self) -> bool {
        let job = if self.may_run_mail() { self.take_mail() } else { None };
        let Some(job) = job else { return self.run_mail_below() };
        let _inside = self.run_inside_job();
        self.run_inside(job, self.me.origins.depth());
        true
    }

    fn run_mail_below(&self) -> bool {
        self.shared.config.is_driven && driven_pools().is_some_and(|pools| (pools.run_below)(self))
    }
}

/// Calls a closure that waits only for jobs of the pool `key`: work off this pool on the thread's stack waits meanwhile. A destructor
/// that waits on the thread that ends the pool would keep that from cancelling the awaited future: so it is cancelled here.
fn waits_for(key: Option<Key>, wait: &mut dyn FnMut() -> bool) -> bool {
    // Also of jobs that end here, as the futures of a pool that ends.
    let _kept = keep_tickets(None);
    let Some(key) = key.filter(|key| key.is_here()) else { return wait() };
    let (pieces, former) = begin_wait(key);
    let _end = Defer(|| end_wait(former));
    let shared = if is_off_pool(key) { Shared::find(key) } else { None };
    let Some(shared) = shared else { return wait() };
    shared.cancel_refused();
    let waiting = &shared.ledger.off_pool;
    waiting.begin_wait(pieces);
    let _end = Defer(|| waiting.end_wait(pieces));
    shared.look_for_quiet();
    wait()
}

/// The parker of a wait, or else the calling thread's, which stays in `own`.
fn thread_of(awaited: &dyn Awaited, own: &mut Option<ThisThread>) -> Arc<BlockedThread> {
    match awaited.thread() {
        Some(thread) => thread.clone(),
        None => Arc::clone(own.get_or_insert_with(BlockedThread::of_this_thread)),
    }
}

/// Whether a wait is over, or has reached its deadline.
fn has_ended(awaited: &mut dyn Awaited) -> bool {
    awaited.is_over() || awaited.deadline().is_some_and(has_passed)
}

/// Whether an instant has passed.
pub(in crate::engine) fn has_passed(at: Instant) -> bool {
    time::until(at).is_zero()
}
