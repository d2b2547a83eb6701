//! What only one worker may run: the local futures of its place, and those of them that have been woken.
//!
//! The rule that no wake is lost here is in `idle/README.md`.

use std::collections::VecDeque;

use brigade_sync::atomic::Ordering;
use brigade_sync::unseen::{AtomicUsize, Mutex};
use brigade_task::{Job, TaskRef};

/// The local futures of one place.
#[derive(Default)]
pub(super) struct Post {
    /// Woken, the first one first.
    mail: Mutex<VecDeque<Job>>,
    /// How many those are.
    count: AtomicUsize,
    /// Those that have not ended.
    locals: Mutex<Locals>,
}

#[derive(Default)]
struct Locals {
    /// Those that have ever waited.
    tasks: Vec<Option<TaskRef>>,
    /// Where there is none.
    vacant: Vec<u32>,
    /// How many there are, whether they have waited or not.
    alive: usize,
}

impl Post {
    /// Queues a job for the worker; it has to be told.
    pub(super) fn send(&self, job: Job) {
        let mut mail = self.mail.lock();
        mail.push_back(job);
        // Ordering: Release: who sees it finds it under the lock. Whether a worker sees it before it parks goes by the
        // fences of `after_publishing` and `announce`.
        self.count.store(mail.len(), Ordering::Release);
    }

    /// Takes the first one; the worker alone does.
    pub(super) fn take(&self) -> Option<Job> {
        if self.is_empty() {
            return None;
        }
        let mut mail = self.mail.lock();
        let job = mail.pop_front();
        self.count.store(mail.len(), Ordering::Release);
        job
    }

    /// How many are queued.
    pub(super) fn len(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `send`.
        self.count.load(Ordering::Acquire)
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts a future that is about to be queued for the first time. The worker alone does.
    pub(super) fn accept(&self) {
        self.locals.lock().alive += 1;
    }

    /// Enters a future that is about to wait; returns its number, which is not 0. The worker alone does.
    pub(super) fn enter(&self, task: TaskRef) -> u32 {
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

    /// Forgets a future that has ended; its number is 0 if it has never waited.
    pub(super) fn leave(&self, number: u32) {
        let mut locals = self.locals.lock();
        locals.alive -= 1;
        let task = number.checked_sub(1).and_then(|index| {
            locals.vacant.push(index);
            locals.tasks.get_mut(index as usize).and_then(Option::take)
        });
        drop(locals);
        // It may be the last that keeps the future's memory.
        drop(task);
    }

    /// Wakes all that wait.
    pub(super) fn wake_all(&self) {
        let tasks: Vec<_> = self.locals.lock().tasks.iter().flatten().cloned().collect();
        tasks.into_iter().for_each(TaskRef::wake);
    }

    /// Whether there are any that have not ended.
    pub(super) fn has_locals(&self) -> bool {
        self.locals.lock().alive > 0
    }
}
