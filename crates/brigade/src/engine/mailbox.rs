//! What only one worker may run: its local futures that have been woken, and its shares of broadcasts.
//!
//! `idle/MAILBOX.md` has the protocols, and the proofs that no wake is lost and no share.

use core::task::Waker;
use std::collections::VecDeque;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;
use brigade_sync::{Mutex, unmodelled};
use brigade_task::{Job, JobId, TaskRef};

/// The mailbox of one worker, and its local futures.
#[derive(Default)]
pub(super) struct Mailbox {
    mail: Mutex<Mail>,
    /// The number of jobs in the mailbox.
    count: AtomicUsize,
    /// The local futures that have not ended.
    locals: unmodelled::Mutex<Locals>,
}

#[derive(Default)]
struct Mail {
    /// In the order in which they were sent.
    jobs: VecDeque<(Kind, Job)>,
    /// The waker of the worker, while a job on it waits.
    waiting: Option<Waker>,
}

/// What a job in a mailbox is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A local future that was woken, with the turn of the worker in which it was spawned.
    Local(u64),
    /// The worker's share of a broadcast, by its id. It may be dropped on any thread.
    Share(JobId),
}

#[derive(Default)]
struct Locals {
    /// The futures that have ever waited.
    tasks: Vec<Option<TaskRef>>,
    /// The vacant indices of `tasks`.
    vacant: Vec<u32>,
    /// How many there are, including those that have never waited.
    alive: usize,
}

impl Mailbox {
    /// Queues a future that was spawned in that turn. The worker must then be woken if it is parked.
    pub(super) fn send(&self, turn: u64, job: Job) {
        let mut mail = self.mail.lock();
        mail.jobs.push_back((Kind::Local(turn), job));
        // The fences of `after_publishing` and `announce` ensure that a worker sees it before it parks.
        self.recount(&mail);
        let waiting = mail.waiting.take();
        drop(mail);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Queues the worker's share of a broadcast; called under the crew's lock, in one step with the choice of the worker.
    pub(super) fn send_share(&self, id: JobId, share: Job) {
        let mut mail = self.mail.lock();
        mail.jobs.push_back((Kind::Share(id), share));
        self.recount(&mail);
    }

    fn recount(&self, mail: &Mail) {
        // Ordering: Release: a thread that sees the count finds the jobs under the lock.
        self.count.store(mail.jobs.len(), Ordering::Release);
    }

    /// Takes the first job; called only by the worker.
    #[inline]
    pub(super) fn take(&self) -> Option<Job> {
        if self.is_empty() { None } else { self.take_first() }
    }

    #[inline(never)]
    fn take_first(&self) -> Option<Job> {
        let mut mail = self.mail.lock();
        let job = mail.jobs.pop_front();
        self.recount(&mail);
        job.map(|(_, job)| job)
    }

    /// Takes all shares; called by a thread that drops them.
    pub(super) fn take_shares(&self) -> Vec<Job> {
        self.take_where(&|kind, _| matches!(kind, Kind::Share(_)))
    }

    /// Takes this share; called only by the worker.
    pub(super) fn take_share(&self, id: JobId) -> Option<Job> {
        self.take_where(&|kind, _| kind == Kind::Share(id)).pop()
    }

    /// Takes the first share; called only by the worker.
    pub(super) fn take_any_share(&self) -> Option<Job> {
        if self.is_empty() {
            return None;
        }
        let mut mail = self.mail.lock();
        let place = mail.jobs.iter().position(|(kind, _)| matches!(kind, Kind::Share(_)));
        let job = place.and_then(|place| mail.jobs.remove(place));
        self.recount(&mail);
        job.map(|(_, job)| job)
    }

    /// Whether there is a share.
    pub(super) fn has_share(&self) -> bool {
        let is_share = |(kind, _): &(Kind, Job)| matches!(kind, Kind::Share(_));
        !self.is_empty() && self.mail.lock().jobs.iter().any(is_share)
    }

    /// Drops the shares that their handles have run or cancelled.
    pub(super) fn sweep(&self) {
        // It may be the last reference to the result, so not under the lock.
        drop(self.take_where(&|kind, job| matches!(kind, Kind::Share(_)) && job.is_stale()));
    }

    fn take_where(&self, takes: &dyn Fn(Kind, &Job) -> bool) -> Vec<Job> {
        if self.is_empty() {
            return Vec::new();
        }
        let (mut mail, mut taken) = (self.mail.lock(), Vec::new());
        // Each moves from the front to the back once, which preserves the order of those that stay.
        for _ in 0..mail.jobs.len() {
            match mail.jobs.pop_front() {
                Some((kind, job)) if takes(kind, &job) => taken.push(job),
                stays => mail.jobs.extend(stays),
            }
        }
        self.recount(&mail);
        taken
    }

    /// Takes the first local future that was spawned in this turn; registers `waker` to be woken when another is sent.
    pub(super) fn take_of(&self, turn: u64, waker: &Waker) -> Option<Job> {
        let waker = waker.clone();
        let mut mail = self.mail.lock();
        let place = mail.jobs.iter().position(|&(kind, _)| kind == Kind::Local(turn));
        let job = place.and_then(|place| mail.jobs.remove(place));
        mail.waiting = Some(waker);
        self.recount(&mail);
        job.map(|(_, job)| job)
    }

    /// Removes the worker's waker, as it stops waiting.
    pub(super) fn stop_waiting(&self) {
        let waiting = self.mail.lock().waiting.take();
        drop(waiting);
    }

    /// The number of queued jobs.
    pub(super) fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `send`.
        self.count.load(Ordering::Acquire)
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts a future that is about to be queued for the first time; called only by the worker.
    pub(super) fn accept(&self) {
        self.locals.lock().alive += 1;
    }

    /// Adds a future that is about to wait; returns its number, which is not 0. Called only by the worker.
    pub(super) fn bind(&self, task: TaskRef) -> u32 {
        let mut locals = self.locals.lock();
        let vacant = locals.vacant.pop().map(|index| index as usize);
        let index = vacant.unwrap_or(locals.tasks.len());
        match locals.tasks.get_mut(index) {
            Some(place) => *place = Some(task),
            None => locals.tasks.push(Some(task)),
        }
        match u32::try_from(index + 1) {
            Ok(number) => number,
            Err(_) => panic!("a worker has at most 2^32 local futures"),
        }
    }

    /// Removes a future that has ended; its number is 0 if it has never waited.
    pub(super) fn release(&self, number: u32) {
        let mut locals = self.locals.lock();
        locals.alive -= 1;
        let task = number.checked_sub(1).and_then(|index| {
            locals.vacant.push(index);
            locals.tasks.get_mut(index as usize).and_then(Option::take)
        });
        drop(locals);
        // It may be the last reference to the future's memory.
        drop(task);
    }

    /// Wakes all that wait.
    pub(super) fn wake_all(&self) {
        let tasks: Vec<_> = self.locals.lock().tasks.iter().flatten().cloned().collect();
        tasks.into_iter().for_each(TaskRef::wake);
    }

    /// Whether there are local futures that have not ended.
    pub(super) fn has_locals(&self) -> bool {
        self.locals.lock().alive > 0
    }
}
