//! What a task set shares with its jobs: how many are on the pool, which ones wait, which have ended.
//!
//! **A job's way.** A job is admitted if fewer than `limit` are and nobody waits, else it waits in line. *Ended* is reported
//! once for each job, by the waker that its cell wakes with the outcome in place, on whatever thread that is: where it
//! ran, was cancelled or was refused. Whoever reports it then submits from the line until that is empty or the limit is
//! reached. So if anything waits while there is room, somebody is about to call for it. In a bounded pool there is room for
//! it only with a place there: those are the business of [`Places`].
//!
//! **On the way.** Pools are submitted to out of the lock, as that may call what is the user's (a spawner). Meanwhile
//! the owner may cancel the job, which the pool counts only if it has accepted it. So the two meet in `passages`:
//! whoever comes second knows what the first did, and counts or does not.
//!
//! **Sleeping.** The owner looks and goes to sleep in one critical section, and what it waits for changes under the
//! same lock: either it sees the change or the changer sees it asleep. It sleeps until enough have ended; on a worker
//! of the pool also until a job has been submitted, since it may be the only one there to run that.
//!
//! No closure, outcome, waker or spawner is run, dropped or cloned under the lock.
//!
//! **Rejected.** A closure around each job's that reports from a guard's drop: the pool would count a job that panicked as
//! one that returned, and the report would come before the outcome. Submitting in the critical section: a spawner that
//! meddles with the set would wait for itself. Cancelling by making `cancel_all` wait for jobs on their way: the same.

mod line;

use core::mem;
use core::task::Waker;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Wake;
use std::time::Instant;

use brigade_sync::{Condvar, Mutex};
use brigade_task::contain;

use crate::handle::Handle;
use crate::join::JoinHandle;

use super::places::Places;
use line::Waiting;

/// What a set and its jobs share.
pub(super) struct Board<T> {
    pool: Handle,
    places: Places,
    state: Mutex<State<T>>,
    /// Told when what the owner sleeps for has come.
    changed: Condvar,
}

struct State<T> {
    /// How many jobs may be on the pool.
    limit: usize,
    /// Jobs that have been admitted and have not ended.
    admitted: usize,
    /// Jobs that have not been admitted, in the order they came.
    line: VecDeque<Waiting>,
    /// Jobs that have left the line, until the pool has accepted them or they have been dropped.
    passages: BTreeMap<u64, Passage>,
    /// How many jobs from the line have been submitted.
    submitted: u64,
    /// Jobs that have ended, in that order, whose outcomes have not been taken.
    ended: VecDeque<u64>,
    /// Handles of jobs that the set has let go: here their outcomes are dropped.
    detached: BTreeMap<u64, JoinHandle<T>>,
    /// What the owner sleeps for, if it does.
    sleeper: Option<Sleep>,
    /// Whom to wake when a job ends.
    waker: Option<Waker>,
}

/// How far a job that has left the line has got.
#[derive(Clone, Copy)]
enum Passage {
    /// The pool has not accepted it yet, or will never be asked.
    Open,
    /// The same, and the owner has cancelled it.
    Cancelled,
    /// The pool has not accepted it and will not, and the owner is just cancelling it.
    Refused,
}

/// What an owner sleeps for.
#[derive(Clone, Copy)]
pub(super) struct Sleep {
    /// So many jobs that have ended.
    pub(super) ended: usize,
    /// Or that more jobs from the line have been submitted than these.
    pub(super) submitted: Option<u64>,
}

impl<T> State<T> {
    /// A place that has become free while others wait is theirs: somebody is about to call for the first.
    fn is_full(&self) -> bool {
        self.admitted >= self.limit || !self.line.is_empty()
    }

    fn has_come(&self, sleep: Sleep) -> bool {
        self.ended.len() >= sleep.ended
            || sleep.submitted.is_some_and(|submitted| self.submitted != submitted)
    }

    fn is_awaited(&self) -> bool {
        self.sleeper.is_some_and(|sleep| self.has_come(sleep))
    }
}

/// The waker of one job: tells the board that it has ended.
struct Bell<T> {
    key: u64,
    board: Arc<Board<T>>,
}

impl<T: Send + 'static> Wake for Bell<T> {
    fn wake(self: Arc<Self>) {
        self.board.ended(self.key);
    }
}

impl<T> Board<T> {
    pub(super) fn new(pool: Handle) -> Arc<Self> {
        let state = State {
            limit: usize::MAX,
            admitted: 0,
            line: VecDeque::new(),
            passages: BTreeMap::new(),
            submitted: 0,
            ended: VecDeque::new(),
            detached: BTreeMap::new(),
            sleeper: None,
            waker: None,
        };
        Arc::new(Self {
            pool,
            places: Places::new(pool),
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    pub(super) fn set_limit(self: &Arc<Self>, limit: usize)
    where
        T: Send + 'static,
    {
        self.state.lock().limit = limit;
        self.refill();
    }

    /// Whether its jobs need seats.
    pub(super) fn is_bounded(&self) -> bool {
        self.places.are_bounded()
    }

    /// Whether a job that entered now would have to wait in line.
    pub(super) fn is_full(&self) -> bool {
        self.state.lock().is_full()
    }

    /// Hears of the end of a job that has entered.
    pub(super) fn watch(self: &Arc<Self>, key: u64, handle: &mut JoinHandle<T>)
    where
        T: Send + 'static,
    {
        let bell = Waker::from(Arc::new(Bell { key, board: self.clone() }));
        if !handle.wake_when_finished(&bell) {
            self.ended(key);
        }
    }

    /// A job has ended: its outcome is there.
    fn ended(self: &Arc<Self>, key: u64)
    where
        T: Send + 'static,
    {
        let mut state = self.state.lock();
        state.admitted -= 1;
        let detached = state.detached.remove(&key);
        let mut waker = None;
        if detached.is_none() {
            state.ended.push_back(key);
            waker = state.waker.take();
        }
        self.tell(state.is_awaited());
        drop(state);
        self.refill();
        // The user's code last: the outcome of a job that was let go, and a waker.
        drop(detached);
        contain(|| waker.into_iter().for_each(Waker::wake));
    }

    fn tell(&self, awaited: bool) {
        if awaited {
            self.changed.notify_one();
        }
    }

    /// How many jobs from the line have been submitted so far.
    pub(super) fn submitted(&self) -> u64 {
        self.state.lock().submitted
    }

    /// Whether so many jobs have ended.
    pub(super) fn have_ended(&self, jobs: usize) -> bool {
        self.state.lock().ended.len() >= jobs
    }

    /// Sleeps until what it sleeps for has come, or it is that time.
    pub(super) fn sleep(&self, sleep: Sleep, deadline: Option<Instant>) {
        let mut state = self.state.lock();
        state.sleeper = Some(sleep);
        while !state.has_come(sleep) {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            state = self.changed.wait(state, left);
        }
        state.sleeper = None;
    }

    /// Takes the job that ended first.
    pub(super) fn take_ended(&self) -> Option<u64> {
        self.state.lock().ended.pop_front()
    }

    /// Leaves a waker for the next job that ends, in place of any other; `false` if one has ended.
    pub(super) fn leave_waker(&self, waker: &Waker) -> bool {
        // Cloned before the lock is taken, dropped after.
        let waker = waker.clone();
        let mut state = self.state.lock();
        let none_has = state.ended.is_empty();
        let unused = if none_has { state.waker.replace(waker) } else { Some(waker) };
        drop(state);
        drop(unused);
        none_has
    }

    /// Lets jobs go: what has ended is dropped here, the rest as it ends.
    pub(super) fn detach(&self, mut jobs: BTreeMap<u64, JoinHandle<T>>) {
        let mut state = self.state.lock();
        let ended = mem::take(&mut state.ended);
        let dropped: Vec<_> = ended.iter().filter_map(|key| jobs.remove(key)).collect();
        state.detached.append(&mut jobs);
        drop(state);
        drop(dropped);
    }
}
