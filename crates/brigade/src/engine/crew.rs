//! Starting and joining the threads of a pool, and waking those that sleep.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::thread::{self, NewThread, Thread};
use brigade_task::drop_contained;

use super::peers::Peer;
use super::worker::Worker;
use super::{Core, Waits};
use crate::config::{Growth, Placement, Threads};
use crate::idle::{Help, Hold, Size, Snapshot};

impl Core {
    /// Lets somebody come for work that has been published, as the pool's rules say.
    #[cold]
    #[inline(never)]
    pub(super) fn help(&self) {
        let seen = self.idle.snapshot();
        let searching = seen.searching();
        // Whether there is more than those will take who are about to look. No more than that is asked for here: an
        // elastic pool that is not full comes here for each job.
        if searching > 0
            && !seen.is_below_core()
            && (seen.parked() > 0 || !self.has_more_than(searching))
        {
            return;
        }
        let queued = if seen.is_below_max() { self.queued() } else { 0 };
        let may_grow = self.may_grow(queued);
        if may_grow || seen.parked() > 0 || seen.is_short() {
            self.bring(self.idle.pick(queued, may_grow));
        }
    }

    /// The same for several jobs at once.
    pub(super) fn help_with(&self, jobs: usize, seen: Snapshot) {
        if !seen.has_reserves() {
            return;
        }
        for _ in 0..jobs {
            let help = self.idle.pick_another(self.may_grow(self.queued()));
            if help.wake.is_none() && help.start.is_none() {
                return;
            }
            self.bring(help);
        }
    }

    /// Whether more jobs than that are queued. Those from outside are counted sooner.
    fn has_more_than(&self, jobs: usize) -> bool {
        self.waiting() > jobs || self.queued() > jobs
    }

    /// Whether so many queued jobs let the pool grow beyond its core size.
    fn may_grow(&self, queued: usize) -> bool {
        match self.config.growth {
            Growth::OnSubmit => true,
            Growth::WhenQueued(jobs) => queued >= jobs,
            Growth::WhenBlocked => false,
        }
    }

    pub(super) fn bring(&self, help: Help) {
        if let Some(index) = help.wake {
            self.wake(index);
        }
        if let Some(index) = help.start {
            // Those that are there go on without it.
            let _ = self.start(index);
        }
    }

    /// Wakes one worker, if it is parked, to search.
    pub(super) fn wake_if_parked(&self, index: usize) {
        if self.idle.pick_this(index) {
            self.wake(index);
        }
    }

    /// Wakes a worker that was picked.
    pub(super) fn wake(&self, index: usize) {
        let peer = self.peers.at(index);
        if self.config.placement == Placement::Spread {
            self.place(peer);
        }
        self.unpark(peer);
    }

    /// Keeps a worker off the CPU that we are on, if another worker runs already.
    ///
    /// Why: on a virtual machine the kernel tends to queue a woken thread behind its waker although
    /// another CPU is idle; `docs/design/placement.md` has the measurement.
    fn place(&self, peer: &Peer) {
        if self.idle.snapshot().running() == 0 {
            return;
        }
        let mut placed = peer.placed.lock();
        let Some(thread) = placed.thread else { return };
        let (Some(all), Some(here)) = (thread.affinity(), brigade_sync::affinity::current_cpu())
        else {
            return;
        };
        let narrow = all.without(here);
        if all.contains(here) && !narrow.is_empty() && thread.set_affinity(&narrow) {
            placed.restore = Some(all);
        }
    }

    /// Starts threads until the pool has its core size, or this many.
    pub(crate) fn start_core(&self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            match self.idle.pick_core() {
                Some(index) => self.start(index)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Starts a worker in a place that was picked. If that fails, nothing is left of it.
    fn start(&self, index: usize) -> io::Result<()> {
        self.tell(|waits| {
            waits.alive += 1;
            waits.spawning += 1;
        });
        let result = self.spawn(index);
        if result.is_err() {
            self.idle.fail(index);
        }
        self.tell(|waits| {
            waits.alive -= usize::from(result.is_err());
            waits.spawning -= 1;
        });
        if result.is_err() {
            // Who relied on it must not wait for it; nobody new is started for that, since that has just failed.
            if self.has_work() {
                if let Some(index) = self.idle.pick_parked() {
                    self.wake(index);
                }
            }
            self.settle();
        }
        result
    }

    /// Has the spawner start the thread of a worker.
    fn spawn(&self, index: usize) -> io::Result<()> {
        self.peers.open(index, &self.config);
        let Some(core) = self.me.upgrade() else { unreachable!("somebody called us") };
        // Whether it is settled that the thread is there, or that it is not: whichever says so first.
        let settled = Arc::new(AtomicBool::new(false));
        let settles = settled.clone();
        let main = move || {
            // Ordering: Relaxed, here and below: what the two do goes by the crew's lock.
            if !settles.swap(true, Ordering::Relaxed) {
                Worker::live(core, index);
            }
        };
        let new = NewThread::new(self.config.thread_name(index), self.config.stack_size, main);
        let started = panic::catch_unwind(AssertUnwindSafe(|| (self.config.spawner)(new)));
        let started = started.unwrap_or_else(|payload| {
            drop_contained(payload);
            Err(io::Error::other("the spawner panicked"))
        });
        match started {
            Ok(thread) => {
                self.threads.lock().push(thread);
                self.idle.started(index);
                Ok(())
            }
            // Whatever the spawner says, a thread that has shown up is there, and one that has not is none of ours.
            Err(_) if settled.swap(true, Ordering::Relaxed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A place for a worker whose thread the model starts.
    #[cfg(all(test, brigade_loom))]
    pub(super) fn enlist_for_a_model(&self) -> usize {
        let Some(index) = self.idle.pick_core() else { unreachable!("models ask for no more") };
        self.peers.open(index, &self.config);
        self.waits.lock().alive += 1;
        index
    }

    /// Sees to it that there is a worker until the guard is dropped, in a pool that may have none; `None` if none can
    /// be started.
    #[cold]
    pub(super) fn hold(&self) -> Option<Held<'_>> {
        match self.idle.hold() {
            Hold::Held => Some(Held(self)),
            Hold::Start(index) => {
                let held = Held(self);
                self.start(index).is_ok().then_some(held)
            }
            Hold::None => None,
        }
    }

    /// Changes what those look at who wait for the workers, and tells them.
    fn tell(&self, change: impl FnOnce(&mut Waits)) {
        change(&mut self.waits.lock());
        self.changed.notify_all();
    }

    /// A worker has left for good.
    pub(super) fn left(&self) {
        self.tell(|waits| waits.alive -= 1);
    }

    /// Joins threads whose workers have left.
    pub(super) fn join_finished(&self) {
        let finished: Vec<_> = {
            let mut threads = self.threads.lock();
            let (finished, others) = threads.drain(..).partition(Thread::is_finished);
            *threads = others;
            finished
        };
        finished.into_iter().for_each(|thread| self.join(thread));
    }

    /// Joins all threads, those included that are just being started.
    pub(crate) fn join_all(&self) {
        loop {
            // Out of the lock: a thread that ends joins others.
            let threads = core::mem::take(&mut *self.threads.lock());
            if !threads.is_empty() {
                threads.into_iter().for_each(|thread| self.join(thread));
                continue;
            }
            let waits = self.waits.lock();
            if waits.alive == 0 && waits.spawning == 0 {
                // Who left meanwhile may have been entered after we looked.
                if self.threads.lock().is_empty() {
                    return;
                }
            } else if self.threads.lock().is_empty() {
                drop(self.changed.wait(waits, None));
            }
        }
    }

    /// Joins a thread; it is one of ours until its thread-local destructors have run.
    fn join(&self, thread: Thread) {
        let id = thread.id();
        thread.join();
        self.members.lock().retain(|&member| member != id);
    }

    /// Says that the calling thread is one of the pool's.
    pub(super) fn enter_thread(&self) {
        self.members.lock().push(thread::current_id());
    }

    /// Whether the calling thread is one of the pool's, or was a moment ago.
    pub(crate) fn is_own_thread(&self) -> bool {
        self.members.lock().contains(&thread::current_id())
    }

    /// Whether the calling thread is in the user's spawner, to start a thread of the pool's.
    pub(crate) fn is_starter(&self) -> bool {
        self.idle.is_starter()
    }

    /// How many workers there may be.
    pub(crate) fn size(&self) -> Size {
        self.idle.size()
    }

    /// Gives the pool another size.
    pub(crate) fn resize(&self, threads: Threads) {
        let size = self.config.size_of(threads);
        // Before it can be so; and for good, since somebody may have looked at it and be about to submit.
        if size.core == 0 {
            self.may_be_empty.store(true, Ordering::SeqCst);
        }
        self.idle.resize(size);
        // Those that are too many leave at once, and who slept for as long as it takes learns how long it may. All are
        // picked first: who is woken soon sleeps again.
        self.idle.pick_all_parked().into_iter().for_each(|index| self.wake(index));
        self.help_with(self.queued(), self.idle.snapshot());
    }
}

/// A submitter relies on there being a worker.
pub(super) struct Held<'a>(&'a Core);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.idle.release();
    }
}
