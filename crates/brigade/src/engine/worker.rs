//! A worker: a thread that runs the jobs of a pool. The state that only this thread uses is plain data; this file has its
//! life and its counters, and each protocol has its functions in its own module.

use core::any::Any;
use core::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_queue::{Cursor, deque};
use brigade_sync::fork::OnChild;
use brigade_sync::{Stack, call_user};
use brigade_task::{Cause, Job, Outcome, Part, drop_contained};

use super::end::off_pool::cancel_and_tell;
use super::futures::groups::Groups;
use super::key::Key;
use super::pace::Pace;
use super::queues::lane::Looks;
use super::queues::local::Local;
use super::queues::peers::Peer;
use super::shared::Shared;
use super::sleep::events::blocked::BlockedThread;
use super::what::What;
use crate::values::{Hook, INJECTOR_INTERVAL, Priority, Role, WorkerInfo};

brigade_sync::scoped_thread_local! {
    /// The current thread's worker.
    pub(crate) static CURRENT: Worker
}

brigade_sync::scoped_thread_local! {
    /// The former worker whose stop hook this thread calls.
    static STOPPING: WorkerInfo
}

/// The former worker whose stop hook the calling thread calls.
pub(crate) fn stopping() -> Option<WorkerInfo> {
    STOPPING.with(|worker| worker.cloned())
}

/// The index of the calling thread's worker in the pool `key`.
pub(super) fn index_in(key: Key) -> Option<usize> {
    with_worker(|own| own.filter(|own| own.is_of(key)).map(|own| own.index))
}

/// Whether the calling thread is a worker of the pool `key`.
pub(crate) fn is_worker_of(key: Key) -> bool {
    index_in(key).is_some()
}

/// Calls a closure with the current thread's worker.
#[inline(always)]
pub(crate) fn with_worker<R>(call: impl FnOnce(Option<&Worker>) -> R) -> R {
    CURRENT.with(call)
}

/// Calls a closure with the current thread's worker, or with none on a guest's thread.
pub(crate) fn with_member<R>(call: impl FnOnce(Option<&Worker>) -> R) -> R {
    with_worker(|own| call(own.filter(|own| !own.is_guest())))
}

/// Called in a forked child, whose only thread is no longer a worker.
pub(crate) struct Child;

impl OnChild for Child {
    fn on_child() {
        // Makes the process abort when the running job ends.
        with_worker(|worker| {
            if let Some(worker) = worker {
                worker.pace.interrupt();
            }
        });
        CURRENT.clear();
    }
}

/// The state of a worker that only its thread uses. `me` is the rest, which other threads see.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// The pool, for a worker; none for a guest.
    member_of: Key,
    /// The state seen by other threads.
    pub(super) me: Arc<Peer>,
    /// The worker's index in the pool.
    pub(crate) index: usize,
    /// The role at the start of the thread.
    pub(super) role: Role,
    pub(super) local: Local,
    /// Forks, and jobs of scopes, pushed by this worker's jobs.
    pub(super) forks: deque::Worker<Part>,
    /// The classes of the running job and of the job taken last.
    pub(super) class: Class,
    /// When the worker looks elsewhere although jobs are on its own queue.
    pub(super) pace: Pace,
    /// Where a search begins.
    pub(super) route: Route,
    /// The recent actions of the worker.
    pub(super) activity: Activity,
    /// The waits and blocking calls on the thread's stack.
    pub(super) nesting: Nesting,
    /// The groups of futures for which the worker waits.
    pub(super) groups: Groups,
    /// Completed entries in queues.
    pub(super) leftovers: Leftovers,
}

/// The classes of the running job and of the job taken last, and the row of high jobs.
#[derive(Default)]
pub(super) struct Class {
    /// The class of the running job.
    pub(super) running: Cell<Priority>,
    /// The class of the job taken last, until it runs.
    pub(super) taken: Cell<Priority>,
    /// The worker's plain pool while it runs a normal job without values, otherwise no pool: submissions compare it with their pool.
    pub(super) open_to: Cell<Key>,
    /// High jobs run in a row.
    pub(super) high: Cell<u32>,
    /// The turn after the last high job: the next high job continues the row if it begins in this turn.
    pub(super) turn: Cell<u64>,
    /// Whether the row is so long that the next search begins with lower classes.
    pub(super) yields: Cell<bool>,
}

/// Where a search begins.
pub(super) struct Route {
    /// The injector used last.
    pub(super) cursor: Cursor,
    /// Picks the first peer to try.
    pub(super) random: RefCell<fastrand::Rng>,
    pub(super) look: PeerLook,
}

impl Route {
    pub(super) fn new(index: usize) -> Self {
        // The same seed at every start: a pool's behaviour depends on timing alone.
        let random = RefCell::new(fastrand::Rng::with_seed(index as u64));
        Self { cursor: Cursor::at(index), random, look: PeerLook::default() }
    }
}

/// A worker's look at the queue of a peer.
#[derive(Default)]
pub(super) struct PeerLook {
    /// The peer.
    pub(super) peer: Cell<usize>,
    /// The epoch of the queue at the last look, if it had jobs.
    pub(super) epoch: Cell<Option<u64>>,
}

/// Completed entries in queues, as far as a worker knows.
#[derive(Default)]
pub(super) struct Leftovers {
    /// The entries left by this worker since the last sweep.
    pub(super) left: Cell<usize>,
    /// The number of injector sweeps when the worker last compacted the own queue.
    pub(super) sweeps: Cell<u64>,
    /// When all parts of the own deque are looked at.
    pub(super) looks: RefCell<Looks>,
    /// A position on this deque below which all parts have stayed during the running job; `None` if all have.
    pub(super) lowest_gap: Cell<Option<u64>>,
}

/// The waits and blocking calls on a worker's stack.
#[derive(Default)]
pub(super) struct Nesting {
    /// The thread's stack.
    pub(super) stack: Stack,
    /// The depth of nested waits that run jobs inside the current job.
    pub(super) waits: Cell<usize>,
    /// The depth of nested blocking calls.
    pub(super) blocks: Cell<usize>,
    /// The innermost wait inside a job.
    pub(super) innermost: Cell<Option<Arc<BlockedThread>>>,
}

impl Nesting {
    fn on(stack: Stack) -> Self {
        Self { stack, ..Self::default() }
    }
}

/// The recent actions of a worker: how it wakes peers and takes mail depends on them.
#[derive(Default)]
pub(super) struct Activity {
    /// Whether the worker polls without sleeping now: the jobs queued meanwhile come from events.
    pub(super) polls: Cell<bool>,
    /// Whether the worker has slept on the driver since the last search.
    pub(super) has_slept_on_driver: Cell<bool>,
    /// The peer woken last, until this worker has checked whether it runs.
    pub(super) woken: Cell<Option<usize>>,
    /// Whether the worker polls a future of a closed pool, and runs no closure.
    pub(super) polls_future: Cell<bool>,
    /// Whether the worker has run parts, or waited for stolen parts, since the last search.
    pub(super) has_run_parts: Cell<bool>,
    /// Whether a search has found a job since the worker started.
    pub(super) has_found: Cell<bool>,
    /// Whether the last job taken in turn came from the mailbox.
    pub(super) came_by_mail: Cell<bool>,
}

impl Worker {
    /// Takes the owner's ends of the queues with this index. The queues must be open.
    pub(super) fn new(shared: Arc<Shared>, index: usize, role: Role, stack: Stack) -> Self {
        let key = shared.key;
        Self::of(shared, key, index, role, stack)
    }

    /// Like [`new`](Self::new), for a guest.
    pub(super) fn guest(shared: Arc<Shared>, index: usize) -> Self {
        Self::of(shared, Key::NONE, index, Role::default(), Stack::default())
    }

    fn of(shared: Arc<Shared>, member_of: Key, index: usize, role: Role, stack: Stack) -> Self {
        let me = shared.queues.peers.at(index).clone();
        let Some((local, forks)) = me.own.lock().take() else {
            unreachable!("a place has one worker")
        };
        Self {
            pace: Pace::new(shared.config.fairness.unwrap_or(INJECTOR_INTERVAL)),
            class: Class::new(member_of),
            me,
            shared,
            member_of,
            index,
            role,
            local,
            forks,
            route: Route::new(index),
            activity: Activity::default(),
            nesting: Nesting::on(stack),
            groups: Groups::default(),
            leftovers: Leftovers::default(),
        }
    }

    /// Whether this is a worker of the pool `key`, and no guest.
    #[inline]
    pub(crate) fn is_of(&self, key: Key) -> bool {
        self.member_of == key
    }

    /// Whether this forks for the pool `key`, as a worker or as a guest.
    #[inline]
    pub(crate) fn forks_for(&self, key: Key) -> bool {
        self.shared.key == key
    }

    /// Whether this is a [guest](super::guest).
    #[inline]
    pub(crate) fn is_guest(&self) -> bool {
        self.member_of == Key::NONE
    }

    /// Counts a panic of a hook, caught on this worker.
    pub(crate) fn count_panic(&self) {
        self.me.counters.panics.add(1);
    }

    /// Whether the pool is being discarded.
    #[inline]
    pub(crate) fn discards(&self) -> bool {
        self.shared.idle.snapshot().discards()
    }

    /// Aborts a forked child whose only thread would continue as a worker: the queued jobs belong to the parent.
    pub(super) fn end_if_orphan(&self) {
        self.shared.key.end_if_orphan();
    }

    /// Counts a job that ended on this worker.
    #[inline]
    pub(crate) fn count(&self, outcome: Outcome) {
        match outcome {
            Outcome::Returned => self.me.counters.returned.add(1),
            other => self.me.counters.count_other(other),
        }
    }

    /// Drops a job; a panic of its captures is contained here.
    #[cold]
    pub(super) fn discard(&self, job: Job) -> Outcome {
        cancel_and_tell(job, Cause::Ended, &|| self.count_panic())
    }

    /// Applies the pool's policy to a panic without a handle.
    #[cold]
    pub(super) fn panicked(&self, payload: Box<dyn Any + Send>) {
        self.count(Outcome::Panicked);
        if self.shared.tell_panic(payload).is_err() {
            self.count_panic();
        }
    }

    /// Counts a future that ended on this worker, and reports a panic without a handle.
    pub(crate) fn count_released(&self, outcome: Outcome, unclaimed: Option<Box<dyn Any + Send>>) {
        match unclaimed {
            Some(payload) => self.panicked(payload),
            None => self.count(outcome),
        }
    }

    /// Returns the owner's ends of the queues.
    pub(super) fn give_back(self) -> Arc<Shared> {
        self.note_polling(false);
        let Self { shared, me, local, forks, .. } = self;
        forks.shrink();
        *me.own.lock() = Some((local, forks));
        shared
    }

    /// The main function of a worker's thread.
    pub(crate) fn live(shared: Arc<Shared>, index: usize) {
        shared.threads.enter();
        let hooks = shared.hooks();
        let role = shared.idle.arrive(index, hooks.on_start.is_some());
        let stack = match hooks.known_stack_size(shared.config.stack_size) {
            Some(size) => Stack::that_begins_here(size),
            None => Stack::default(),
        };
        let worker = Self::new(shared, index, role, stack);
        let Self { shared, me, .. } = &worker;
        me.sleeper.set_thread(true);
        me.counters.wakes_up();
        worker.tell_start();
        let life = || {
            shared.config.apply_to_thread(index);
            worker.call_hook(hooks.on_start.as_ref());
            let is_new = Cell::new(true);
            // A panic ends a call of `turns`, never the thread.
            let turns = || panic::catch_unwind(AssertUnwindSafe(|| worker.turns(&is_new)));
            while let Err(payload) = turns() {
                worker.panicked(payload);
            }
        };
        let life = || CURRENT.set(&worker, life);
        shared.events.resources.enter(life);
        shared.cancel_locals(me);
        me.sleeper.set_thread(false);
        if hooks.on_stop.is_some() {
            STOPPING.set(&worker.info(), || worker.call_hook(hooks.on_stop.as_ref()));
        }
        drop(hooks);
        worker.tell(What::Ends);
        me.counters.falls_asleep();
        let shared = worker.give_back();
        shared.threads.join_finished();
        // All other workers may already be parked.
        shared.try_terminate();
        shared.idle.vacate(index);
        shared.tell_of_end();
    }

    /// The public description of this worker.
    pub(crate) fn info(&self) -> WorkerInfo {
        let pool = self.shared.config.pool_name();
        WorkerInfo { index: self.index, role: self.role, pool }
    }

    fn call_hook(&self, hook: Option<&Hook>) {
        let Some(hook) = hook else { return };
        let call = || call_user(|| hook(self.index));
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
            self.me.counters.panics.add(1);
            drop_contained(payload);
        }
    }
}
