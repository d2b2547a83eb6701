//! The threads of a pool: how they are started, and joined.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::atomic::{AtomicBool, AtomicU8, Ordering};
use brigade_sync::thread::{self, NewThread, Thread, ThreadId};
use brigade_sync::{Condvar, Mutex};
use brigade_task::drop_contained;

use super::following::Following;
use super::signal::left;
use crate::config::Config;

/// What a thread of a pool is started for.
pub(super) trait Launch: Send {
    /// Runs the worker, on its thread.
    fn run(self: Box<Self>);

    /// The thread will never run, although the spawner has reported that it started it.
    fn lost(self: Box<Self>);
}

/// Makes the [`Launch`] of the worker with an index.
pub(super) type Entry = Box<dyn Fn(usize) -> Box<dyn Launch> + Send + Sync>;

/// The threads of one pool.
pub(super) struct Threads {
    config: Arc<Config>,
    /// What their number follows.
    pub(super) following: Following,
    entry: Entry,
    /// The threads that have not been joined.
    handles: Mutex<Vec<Thread>>,
    /// The threads that run workers, or their thread-local destructors.
    members: Mutex<Vec<ThreadId>>,
    counts: Mutex<Counts>,
    /// Notified when `counts` has changed.
    changed: Condvar,
    /// Whether the last start has failed.
    has_failed: AtomicBool,
    /// Whether dropping the pool detaches the threads.
    is_detached: AtomicBool,
}

#[derive(Default)]
struct Counts {
    /// Workers that have been started, or are about to be, and have not left for good.
    alive: usize,
    /// Threads whose spawner has not returned.
    spawning: usize,
}

impl Counts {
    fn all_left(&self) -> bool {
        self.alive == 0 && self.spawning == 0
    }
}

/// What happened to a thread that the spawner had to start: the first report counts.
mod fate {
    /// Nothing is known.
    pub(super) const OPEN: u8 = 0;
    /// The spawner reports that it has started it.
    pub(super) const STARTED: u8 = 1;
    /// It runs.
    pub(super) const RUNS: u8 = 2;
    /// The spawner reports that it could not start it: the thread must no longer run the worker.
    pub(super) const FAILED: u8 = 3;
    /// Its main function has been dropped.
    pub(super) const DROPPED: u8 = 4;
}

/// The main function of a thread.
struct Main {
    launch: Option<Box<dyn Launch>>,
    fate: Arc<AtomicU8>,
}

impl Main {
    fn run(mut self) {
        // Ordering: AcqRel, here and below: each side sees what the other has done before its report.
        let before = self.fate.swap(fate::RUNS, Ordering::AcqRel);
        let launch = self.launch.take();
        if before != fate::FAILED {
            launch.into_iter().for_each(Launch::run);
        }
    }
}

impl Drop for Main {
    fn drop(&mut self) {
        let Some(launch) = self.launch.take() else { return };
        if self.fate.swap(fate::DROPPED, Ordering::AcqRel) == fate::STARTED {
            launch.lost();
        }
    }
}

impl Threads {
    pub(super) fn new(config: Arc<Config>, entry: Entry) -> Self {
        Self {
            following: Following::new(&config),
            config,
            entry,
            handles: Mutex::default(),
            members: Mutex::default(),
            counts: Mutex::default(),
            changed: Condvar::new(),
            has_failed: AtomicBool::new(false),
            is_detached: AtomicBool::new(false),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock());
        self.changed.notify_all();
    }

    /// Has the spawner start the thread of a worker; calls `started` or `failed` once that is known.
    pub(super) fn start(
        &self,
        index: usize,
        started: impl FnOnce(),
        failed: impl FnOnce(),
    ) -> io::Result<()> {
        self.change(|counts| {
            counts.alive += 1;
            counts.spawning += 1;
        });
        let result = self.spawn(index, started);
        if result.is_err() {
            failed();
        }
        self.has_failed.store(result.is_err(), Ordering::Relaxed);
        self.change(|counts| {
            counts.alive -= usize::from(result.is_err());
            counts.spawning -= 1;
        });
        result
    }

    fn spawn(&self, index: usize, started: impl FnOnce()) -> io::Result<()> {
        let fate = Arc::new(AtomicU8::new(fate::OPEN));
        let main = Main { launch: Some((self.entry)(index)), fate: fate.clone() };
        let name = self.config.thread_name(index);
        let new = NewThread::new(name, self.config.stack_size, move || main.run())
            .inheriting(self.config.inherited.clone());
        let spawned = panic::catch_unwind(AssertUnwindSafe(|| (self.config.spawner)(new)));
        let spawned = spawned.unwrap_or_else(|payload| {
            drop_contained(payload);
            Err(io::Error::other("the spawner panicked"))
        });
        let says = if spawned.is_ok() { fate::STARTED } else { fate::FAILED };
        let known = fate.compare_exchange(fate::OPEN, says, Ordering::AcqRel, Ordering::Acquire);
        match (known, spawned) {
            // A thread that runs exists, whatever the spawner reports.
            (Err(fate::RUNS), Err(_)) => Ok(()),
            (Err(fate::DROPPED), Ok(thread)) => {
                self.handles.lock().push(thread);
                Err(io::Error::other("the spawner dropped the thread that it was to start"))
            }
            (_, Ok(thread)) => {
                self.handles.lock().push(thread);
                started();
                Ok(())
            }
            (_, Err(error)) => Err(error),
        }
    }

    /// From now on, dropping the pool does not wait for the threads.
    pub(super) fn detach(&self) {
        // Ordering: Relaxed, here and below: it publishes nothing.
        self.is_detached.store(true, Ordering::Relaxed);
    }

    /// Whether [`detach`](Self::detach) has been called.
    pub(super) fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::Relaxed)
    }

    /// Whether the last start of a thread has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Adds the calling thread to the pool's.
    pub(super) fn enter(&self) {
        self.members.lock().push(thread::current_id());
    }

    /// Removes the calling thread, which runs no worker any more and is not joined.
    pub(super) fn exit(&self) {
        let id = thread::current_id();
        self.members.lock().retain(|&member| member != id);
    }

    /// Counts a worker that the calling thread is, and has not been started for.
    pub(super) fn adopt(&self) {
        self.enter();
        self.change(|counts| counts.alive += 1);
    }

    /// Whether the calling thread is one of the pool's, or was a moment ago.
    pub(super) fn is_own(&self) -> bool {
        self.members.lock().contains(&thread::current_id())
    }

    /// Notes that a worker has left for good.
    pub(super) fn leave(&self) {
        self.change(|counts| counts.alive -= 1);
    }

    /// Counts the workers that have not left.
    pub(super) fn alive(&self) -> usize {
        self.counts.lock().alive
    }

    /// Joins threads whose workers have left.
    pub(super) fn join_finished(&self) {
        let mut finished = Vec::new();
        let mut handles = self.handles.lock();
        let mut index = 0;
        while let Some(thread) = handles.get(index) {
            if thread.is_finished() {
                finished.push(handles.swap_remove(index));
            } else {
                index += 1;
            }
        }
        drop(handles);
        finished.into_iter().for_each(|thread| _ = self.join(thread, None));
    }

    /// Waits until all workers have left, until the deadline at most; returns whether they have.
    pub(super) fn wait_left(&self, deadline: Option<Instant>) -> bool {
        let mut counts = self.counts.lock();
        while !counts.all_left() {
            let left = left(deadline);
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            counts = self.changed.wait(counts, left);
        }
        true
    }

    /// Joins all threads, including those that are being started, until the deadline at most; returns whether all have ended.
    pub(super) fn join_all(&self, deadline: Option<Instant>) -> bool {
        loop {
            // Without the lock, as a thread that ends joins others.
            let handles = core::mem::take(&mut *self.handles.lock());
            if !handles.is_empty() {
                let late =
                    handles.into_iter().filter_map(|thread| self.join(thread, deadline).err());
                let late: Vec<_> = late.collect();
                if !late.is_empty() {
                    self.handles.lock().extend(late);
                    return false;
                }
                continue;
            }
            let counts = self.counts.lock();
            let all_left = counts.all_left();
            // Checked again: a thread that left in the meantime may have been added after the first look.
            match self.handles.lock().is_empty() {
                true if all_left => return true,
                true => {}
                false => continue,
            }
            drop(self.changed.wait(counts, None));
        }
    }

    /// Joins a thread, which is one of the pool's until its thread-local destructors have run, or returns it at the deadline.
    fn join(&self, thread: Thread, deadline: Option<Instant>) -> Result<(), Thread> {
        let id = thread.id();
        thread.join_until(deadline)?;
        self.members.lock().retain(|&member| Some(member) != id);
        Ok(())
    }
}
