//! The jobs that only one worker may run: woken local futures, and shares of broadcasts.
//!
//! `engine/futures/MAILBOX.md` has the protocols, and proves that no wake-up and no share is lost.

use core::task::Waker;
use std::collections::VecDeque;

use brigade_sync::Mutex;
use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicUsize;
use brigade_task::Job;

use super::lane::Looks;
use crate::values::Priority;

/// The mailbox of one worker, and the number of its local futures.
#[derive(Default)]
pub(in crate::engine) struct Mailbox {
    mail: Mutex<Mail>,
    /// The number of jobs in the mailbox.
    count: AtomicUsize,
    /// The number of unfinished local futures. Only the worker's thread uses it.
    locals: AtomicUsize,
}

#[derive(Default)]
struct Mail {
    /// In the order of sending.
    jobs: VecDeque<(MailKind, Priority, Job)>,
    looks: Looks,
    /// The waker of the worker, while a job on it waits.
    waiting: Option<Waker>,
}

/// The kind of a job in a mailbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MailKind {
    /// A woken local future.
    Local,
    /// A job sent to the worker, such as a share of a broadcast. It may be dropped on any thread.
    Share,
}

impl Mailbox {
    /// Queues a future. The worker must then be woken if it is parked.
    pub(in crate::engine) fn send(&self, job: Job) {
        let Some(waiting) = self.queue(MailKind::Local, Priority::Normal, job) else { return };
        waiting.wake();
    }

    /// Queues a job of a class for a worker that can't have left: the caller holds the roster's lock since it
    /// has chosen the worker, or has picked it. Returns the waker of the worker if a job on it waits, for the
    /// caller to wake.
    pub(in crate::engine) fn send_share(&self, class: Priority, share: Job) -> Option<Waker> {
        self.queue(MailKind::Share, class, share)
    }

    fn queue(&self, kind: MailKind, class: Priority, job: Job) -> Option<Waker> {
        let mut mail = self.mail.lock();
        mail.jobs.push_back((kind, class, job));
        // The fences of `after_publishing` and `announce` ensure that a worker sees the job before it parks.
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
        let (_, class, job) = mail.jobs.pop_front()?;
        self.recount(&mail);
        Some((class, job))
    }

    /// Takes all shares, for a thread that drops them.
    pub(in crate::engine) fn take_shares(&self) -> Vec<Job> {
        self.take_where(&|kind, _| kind == MailKind::Share)
    }

    /// Drops completed entries, if the `most` of the calls since the last look add up to the number of jobs.
    pub(in crate::engine) fn sweep(&self, most: usize) {
        if !self.is_empty() && self.mail.lock().looks.are_due(most, self.len()) {
            // Not under the lock: it may drop the last reference to a result.
            drop(self.take_where(&|_, job| job.is_stale()));
        }
    }

    fn take_where(&self, takes: &dyn Fn(MailKind, &Job) -> bool) -> Vec<Job> {
        if self.is_empty() {
            return Vec::new();
        }
        let (mut mail, mut taken) = (self.mail.lock(), Vec::new());
        // Each job moves from the front to the back once, which preserves the order of the remaining jobs.
        for _ in 0..mail.jobs.len() {
            match mail.jobs.pop_front() {
                Some((kind, _, job)) if takes(kind, &job) => taken.push(job),
                Some(stays) => mail.jobs.push_back(stays),
                None => {}
            }
        }
        self.recount(&mail);
        taken
    }

    /// Sets the waker for the next job sent, while a job on the worker waits. Returns `false` if the mailbox
    /// is not empty.
    pub(in crate::engine) fn wake_by(&self, waker: Waker) -> bool {
        let mut mail = self.mail.lock();
        let former = mail.waiting.replace(waker);
        let is_empty = mail.jobs.is_empty();
        drop(mail);
        drop(former);
        is_empty
    }

    /// Removes the waker of a worker that stops waiting.
    pub(in crate::engine) fn stop_waiting(&self) {
        let waiting = self.mail.lock().waiting.take();
        drop(waiting);
    }

    /// The number of queued jobs.
    pub(in crate::engine) fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `recount`.
        self.count.load(Ordering::Acquire)
    }

    /// Whether nothing is queued.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts a future about to be queued for the first time; called only by the worker.
    pub(in crate::engine) fn accept(&self) {
        // Ordering: Relaxed, here and below: a single thread uses the count.
        self.locals.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an ended future.
    pub(in crate::engine) fn local_ended(&self) {
        self.locals.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are unfinished local futures.
    pub(in crate::engine) fn has_locals(&self) -> bool {
        self.locals.load(Ordering::Relaxed) > 0
    }
}
