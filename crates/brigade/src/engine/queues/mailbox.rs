//! What only one worker may run: its local futures that have been woken, and its shares of broadcasts.
//!
//! `engine/idle/MAILBOX.md` has the protocols, and the proofs that no wake is lost and no share.

use core::task::Waker;
use std::collections::VecDeque;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;
use brigade_sync::{Mutex, unmodelled};
use brigade_task::{Job, TaskRef};

use crate::values::Priority;

/// The mailbox of one worker, and its local futures.
#[derive(Default)]
pub(in crate::engine) struct Mailbox {
    mail: Mutex<Mail>,
    /// The number of jobs in the mailbox.
    count: AtomicUsize,
    /// The local futures that have not ended.
    locals: unmodelled::Mutex<Locals>,
}

#[derive(Default)]
struct Mail {
    /// In the order in which they were sent.
    jobs: VecDeque<(Kind, Priority, Job)>,
    /// The waker of the worker, while a job on it waits.
    waiting: Option<Waker>,
}

/// What a job in a mailbox is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A local future that was woken.
    Local,
    /// A job that was sent to the worker, such as its share of a broadcast. It may be dropped on any thread.
    Share,
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
    /// Queues a future. The worker must then be woken if it is parked.
    pub(in crate::engine) fn send(&self, job: Job) {
        let waiting = self.queue(Kind::Local, Priority::Normal, job);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Queues a job of a class for the worker; called before it can have left: under the roster's lock, in one step with the choice of
    /// the worker, or once it has been picked. Returns the waker of the worker if a job on it waits, for the caller to wake.
    pub(in crate::engine) fn send_share(&self, class: Priority, share: Job) -> Option<Waker> {
        self.queue(Kind::Share, class, share)
    }

    fn queue(&self, kind: Kind, class: Priority, job: Job) -> Option<Waker> {
        let mut mail = self.mail.lock();
        mail.jobs.push_back((kind, class, job));
        // The fences of `after_publishing` and `announce` ensure that a worker sees it before it parks.
        self.recount(&mail);
        mail.waiting.take()
    }

    fn recount(&self, mail: &Mail) {
        // Ordering: Release: a thread that sees the count finds the jobs under the lock.
        self.count.store(mail.jobs.len(), Ordering::Release);
    }

    /// Takes the first job and its class; called only by the worker.
    #[inline]
    pub(in crate::engine) fn take(&self) -> Option<(Priority, Job)> {
        if self.is_empty() { None } else { self.take_first() }
    }

    #[inline(never)]
    fn take_first(&self) -> Option<(Priority, Job)> {
        let mut mail = self.mail.lock();
        let job = mail.jobs.pop_front();
        self.recount(&mail);
        job.map(|(_, class, job)| (class, job))
    }

    /// Takes all shares; called by a thread that drops them.
    pub(in crate::engine) fn take_shares(&self) -> Vec<Job> {
        self.take_where(&|kind, _| kind == Kind::Share)
    }

    /// Drops the shares that their handles have run or cancelled.
    pub(in crate::engine) fn sweep(&self) {
        // It may be the last reference to the result, so not under the lock.
        drop(self.take_where(&|kind, job| kind == Kind::Share && job.is_stale()));
    }

    fn take_where(&self, takes: &dyn Fn(Kind, &Job) -> bool) -> Vec<Job> {
        if self.is_empty() {
            return Vec::new();
        }
        let (mut mail, mut taken) = (self.mail.lock(), Vec::new());
        // Each moves from the front to the back once, which preserves the order of those that stay.
        for _ in 0..mail.jobs.len() {
            match mail.jobs.pop_front() {
                Some((kind, _, job)) if takes(kind, &job) => taken.push(job),
                stays => mail.jobs.extend(stays),
            }
        }
        self.recount(&mail);
        taken
    }

    /// Has a waker be woken when something is sent, while a job on the worker waits; `false` if the mailbox is not empty.
    pub(in crate::engine) fn wake_by(&self, waker: Waker) -> bool {
        let mut mail = self.mail.lock();
        let former = mail.waiting.replace(waker);
        let is_empty = mail.jobs.is_empty();
        drop(mail);
        drop(former);
        is_empty
    }

    /// Removes the worker's waker, as it stops waiting.
    pub(in crate::engine) fn stop_waiting(&self) {
        let waiting = self.mail.lock().waiting.take();
        drop(waiting);
    }

    /// The number of queued jobs.
    pub(in crate::engine) fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `send`.
        self.count.load(Ordering::Acquire)
    }

    /// Whether nothing is queued.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts a future that is about to be queued for the first time; called only by the worker.
    pub(in crate::engine) fn accept(&self) {
        self.locals.lock().alive += 1;
    }

    /// Adds a future that is about to wait; returns its number, which is not 0. Called only by the worker.
    pub(in crate::engine) fn bind(&self, task: TaskRef) -> u32 {
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
    pub(in crate::engine) fn release(&self, number: u32) {
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

    /// Cancels all futures that wait, and wakes all others.
    pub(in crate::engine) fn cancel_waiting(&self) {
        let tasks: Vec<_> = self.locals.lock().tasks.iter().flatten().cloned().collect();
        tasks.iter().for_each(TaskRef::cancel_waiting);
    }

    /// Whether there is a future that waits.
    pub(in crate::engine) fn has_waiting(&self) -> bool {
        self.locals.lock().tasks.iter().flatten().any(TaskRef::is_waiting)
    }

    /// Whether there are local futures that have not ended.
    pub(in crate::engine) fn has_locals(&self) -> bool {
        self.locals.lock().alive > 0
    }
}
