//! Whether a bounded pool has room for a job, and what becomes of one for which it has none.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_queue::{Cursor, StealError};
use brigade_task::{Job, Ran};

use super::aside::aside;
use super::close::cancel_contained;
use super::{Core, Peer, Worker};
use crate::blocking;
use crate::config::WhenFull;
use crate::rejected::Reason;
use crate::room::{Place, Room};

/// What becomes of a submission.
pub(crate) enum Admission {
    /// It is queued, in this place if the pool is bounded.
    Queue(Option<Place>),
    /// Whoever submits it runs it. It has been accepted, unless that is a worker of ours, which does so itself.
    RunHere,
    /// It has been accepted, and is dropped.
    Drop,
    /// It goes back.
    Refuse(Reason),
}

impl Core {
    /// Says what becomes of a submission, from a job of ours (`inside`) or from elsewhere.
    ///
    /// Waits for room until `until` at most, and never `inside`: who is to run what is queued can't wait for it.
    pub(crate) fn admit(
        &self,
        when_full: WhenFull,
        until: Option<Instant>,
        inside: bool,
    ) -> Admission {
        let Some(room) = &self.room else { return Admission::Queue(None) };
        if let Some(place) = room.try_take() {
            return Admission::Queue(Some(place));
        }
        // Looked at after the room: it was full while the pool was open, or the pool is closed, which comes first.
        if self.refuses(inside) {
            return Admission::Refuse(Reason::Closed);
        }
        // In the user's spawner, which a submission may have called that has the only place and no job in it yet.
        let starts = self.idle.is_starter();
        match when_full {
            WhenFull::Reject | WhenFull::BlockFor(Duration::ZERO) => {
                Admission::Refuse(Reason::Full)
            }
            WhenFull::Block | WhenFull::BlockFor(_) | WhenFull::RunInCaller if inside => {
                Admission::RunHere
            }
            WhenFull::DropOldest if starts && inside => Admission::RunHere,
            WhenFull::Block | WhenFull::BlockFor(_) | WhenFull::DropOldest if starts => {
                self.accept_unqueued(inside, Admission::RunHere)
            }
            WhenFull::RunInCaller => self.accept_unqueued(inside, Admission::RunHere),
            WhenFull::Block => self.wait_for_room(room, until),
            WhenFull::BlockFor(timeout) => {
                // A deadline too far to be written down is none.
                let end = Instant::now().checked_add(timeout);
                self.wait_for_room(room, end.into_iter().chain(until).min())
            }
            WhenFull::DropOldest => self.make_room(room, inside),
            WhenFull::DropNewest => self.accept_unqueued(inside, Admission::Drop),
        }
    }

    /// Whether a submission is refused, room or not.
    fn refuses(&self, inside: bool) -> bool {
        if inside { self.idle.snapshot().discards() } else { self.is_closed() }
    }

    /// Why the pool refused what it had room for.
    pub(crate) fn refusal(&self) -> Reason {
        // An open pool refuses only what it has no thread for. One that is being closed may not say so yet, but its
        // injectors, which are closed first, do.
        if self.may_be_empty() && !self.inlet.is_closing() {
            Reason::NoThread
        } else {
            Reason::Closed
        }
    }

    /// Accepts a job that will not be queued, if the pool is still open.
    fn accept_unqueued(&self, inside: bool, admission: Admission) -> Admission {
        self.accept_for(inside, || Some(admission)).unwrap_or(Admission::Refuse(Reason::Closed))
    }

    /// Counts a job as accepted that will not be queued, if there is somebody or something for it and the pool is open.
    pub(super) fn accept_for<R>(
        &self,
        inside: bool,
        find: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let mut elsewhere = self.elsewhere.lock();
        // Under the lock, which `close` takes when it has said so: what is accepted is in the report of the end.
        if self.refuses(inside) {
            return None;
        }
        let found = find()?;
        elsewhere.accepted += 1;
        Some(found)
    }

    fn wait_for_room(&self, room: &Arc<Room>, until: Option<Instant>) -> Admission {
        // On a worker of another pool, that one may have another thread meanwhile.
        match blocking(|| room.wait(until, || self.is_closed())) {
            Some(place) => Admission::Queue(Some(place)),
            None if self.is_closed() => Admission::Refuse(Reason::Closed),
            None => Admission::Refuse(Reason::Full),
        }
    }

    /// For how many jobs there is room; `None` if there always is.
    pub(crate) fn room(&self) -> Option<&Arc<Room>> {
        self.room.as_ref()
    }

    /// Drops queued jobs, the oldest first, until there is room.
    fn make_room(&self, room: &Arc<Room>, inside: bool) -> Admission {
        // Futures that have no place, as they have been polled before. Put back one by one they would be found again and
        // again before what lies in another injector.
        let mut placeless = Vec::new();
        let admission = self.evict(room, inside, &mut placeless);
        placeless.into_iter().for_each(|job| self.put_back(job));
        admission
    }

    fn evict(&self, room: &Arc<Room>, inside: bool, placeless: &mut Vec<Job>) -> Admission {
        let mut round = 0;
        // Else a set that waits would take what we make, and we would go on for as many jobs as it has.
        let _evicting = room.begin_eviction();
        loop {
            match self.oldest() {
                Some(job) if job.is_resumption() => placeless.push(job),
                // One that was cancelled has given its place back already; then there was room, or the next one goes.
                Some(job) => self.drop_for_room(job),
                // All are on their way from one place to another, or about to start.
                None => {
                    placeless.drain(..).for_each(|job| self.put_back(job));
                    brigade_sync::hint::snooze(round);
                    round += 1;
                }
            }
            if let Some(place) = room.try_take() {
                return Admission::Queue(Some(place));
            }
            if self.refuses(inside) {
                return Admission::Refuse(Reason::Closed);
            }
        }
    }

    /// Takes the oldest job of an injector, else of a worker's queue.
    fn oldest(&self) -> Option<Job> {
        let steal = |peer: &Arc<Peer>| {
            let mut round = 0;
            loop {
                match peer.remote.steal() {
                    Ok(job) => return Some(job),
                    Err(StealError::Empty) => return None,
                    Err(StealError::Busy) => {
                        brigade_sync::hint::snooze(round);
                        round += 1;
                    }
                }
            }
        };
        self.inlet.pop(&Cursor::default()).or_else(|| self.peers.iter().find_map(steal))
    }

    /// Drops a job for want of room: a queued one, or one that was accepted without being queued.
    pub(crate) fn drop_for_room(&self, job: Job) {
        if job.is_future() {
            // Its own end counts it as cancelled.
            self.elsewhere.lock().evicted += 1;
            self.count_aside(|| aside(self.key, || drop(job)));
        } else if cancel_contained(job) {
            let mut elsewhere = self.elsewhere.lock();
            elsewhere.cancelled += 1;
            elsewhere.evicted += 1;
        }
        // It may have been the last that somebody waits for, and no worker knows.
        self.look_for_quiet();
    }

    /// Runs a job that was accepted without being queued, on this thread, which is no worker of ours.
    pub(crate) fn run_here(&self, job: Job) {
        let ran = panic::catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|payload| {
            // A panic of the callback has been contained; the counters of panics are the workers'.
            let _ = self.config.on_panic.tell(payload);
            Ran::Panicked
        });
        self.elsewhere.lock().count(ran);
    }
}

impl Worker {
    /// What it shares with the others of its pool.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Accepts a job and runs it right here, inside the job that submits it.
    pub(crate) fn run_here(&self, job: Job) {
        self.me.counters.accepted.add(1);
        match panic::catch_unwind(AssertUnwindSafe(|| job.run())) {
            Ok(ran) => self.count(ran),
            Err(payload) => self.panicked(payload),
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::idle::Size;
    use crate::registry;

    #[test]
    fn a_pool_that_is_just_being_closed_does_not_say_that_it_has_no_thread() {
        let config = Config { size: Size { core: 0, max: 1, spare: 1 }, ..Config::default() };
        let core = Core::new(registry::new_key(false).unwrap(), config);
        assert_eq!(core.refusal(), Reason::NoThread);
        // The first step of `close`, after which jobs are refused.
        core.inlet.close();
        assert_eq!(core.refusal(), Reason::Closed);
    }
}
