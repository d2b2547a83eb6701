//! Detection of waits that would never end because they wait for each other.
//!
//! A job waits if a thread that runs it is blocked until other jobs have ended. A thread may run several jobs, one inside the
//! other, and then all of these wait. A wait may also be inside another, in a local future that the waiting thread polls. A job
//! that waits can't end before its waits do, so a cycle of such waits never ends. Each wait is listed here before its thread
//! blocks, in one step with its search for a cycle. So the wait that would close a cycle sees the rest of it, whatever pools
//! the threads belong to.
//!
//! Waits with a timeout are not listed, as they end. Nor are waits for anything but the handle of a job.
//!
//! A share of a broadcast can't start before the jobs on its worker have ended, as no other thread may run it. So while it has
//! not started, a wait for it is a wait for the waits of its worker, which are listed too. If that closes a cycle, nothing is
//! wrong with the jobs themselves: two of them, on two workers, may each wait for a broadcast. Then the worker of the share is
//! *called*: it runs that share inside its wait, as it would run any job that it waits for. This is never done for a share that
//! a wait does not depend on: it may lock what the waiting job has locked.
//!
//! **Name rule.** A job that waits is running, and one that is waited for has its handle until the entry is gone. So no name in
//! this list stands for two jobs. A worker that is called for a share may see its name later, and then looks for it among the
//! shares that it has not run.
//!
//! `idle/joins.rs` detects that no thread is left to run an awaited job.

use core::task::Waker;

use brigade_sync::Mutex;
use brigade_sync::fork::PerProcess;
use brigade_sync::hint;
use brigade_task::{JobId, for_each_running};

use crate::engine::{CURRENT, Worker};
use crate::key::Key;
use crate::sorted_map::SortedMap;

/// The waits of this process.
static WAITS: PerProcess<Mutex<Waits>> = PerProcess::new();

/// Of the waits of one job or worker, one inside the other, each must end.
#[derive(Default)]
struct Waits {
    /// For each job that waits, what it waits for.
    of_jobs: SortedMap<JobId, Vec<Awaited>>,
    /// The waits of each worker.
    of_workers: SortedMap<Place, Vec<WorkerWait>>,
}

/// A worker: its pool and its index.
type Place = (Key, usize);

/// One wait of a worker.
struct WorkerWait {
    awaited: Awaited,
    /// Ends its sleep; `None` if it can't be called.
    waker: Option<Waker>,
    /// The shares that it is called for.
    called: Vec<JobId>,
}

/// A job that is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    job: JobId,
    /// The only worker that may run it, if it is a share of a broadcast.
    place: Option<Place>,
}

impl Target {
    /// The job with this id; with the worker if it is a share of a broadcast.
    pub(crate) fn new(job: JobId, pool: Key, index: Option<usize>) -> Self {
        Self { job, place: index.map(|index| (pool, index)) }
    }
}

/// What ends a wait.
#[derive(Clone)]
pub(crate) enum Awaited {
    /// The end of this job.
    One(Target),
    /// The end of each of these jobs.
    All(Vec<Target>),
    /// The end of one of them.
    Any(Vec<Target>),
}

/// The most jobs that a wait is listed with. All jobs of a new wait are searched for a cycle, but a longer list would be
/// searched again, under a lock, at each wait of another job.
const MOST: usize = 64;

/// The jobs of this thread, and its worker, while it is blocked.
pub(crate) struct Waiting {
    jobs: Vec<JobId>,
    place: Option<Place>,
}

impl Awaited {
    fn targets(&self) -> &[Target] {
        match self {
            Self::One(target) => core::slice::from_ref(target),
            Self::All(targets) | Self::Any(targets) => targets,
        }
    }
}

impl Waiting {
    /// Lists that the jobs of this thread wait for `awaited`; `None` if that never ends, as it waits for one of them.
    ///
    /// With a waker, which ends the sleep of this thread, a worker may be called: it must [run](Self::run_called) what it is
    /// called for before it sleeps, and each time that it is woken.
    ///
    /// The handles of the awaited jobs must outlive the value (Name rule).
    pub(crate) fn begin(awaited: Awaited, waker: Option<Waker>) -> Option<Self> {
        let mut jobs = Vec::new();
        for_each_running(|job| jobs.push(job));
        let place = CURRENT.with(|worker| worker.map(|worker| (worker.key(), worker.index())));
        if jobs.is_empty() && place.is_none() {
            // No job can wait for us.
            return Some(Self { jobs, place });
        }
        let mut waits = WAITS.get().lock();
        let mut search = Search::new(&waits, &jobs, place, waker.is_some());
        if search.never_ends(&awaited) {
            return None;
        }
        let called = search.called;
        if awaited.targets().len() > MOST {
            jobs.clear();
        }
        for &job in &jobs {
            waits.of_jobs.get_or_default(job).push(awaited.clone());
        }
        if let Some(place) = place {
            let is_long = awaited.targets().len() > MOST;
            let awaited = if is_long { Awaited::All(Vec::new()) } else { awaited };
            let wait = WorkerWait { awaited, waker, called: Vec::new() };
            waits.of_workers.get_or_default(place).push(wait);
        }
        let wakers: Vec<_> = called.into_iter().filter_map(|call| waits.call(call)).collect();
        drop(waits);
        wakers.into_iter().for_each(Waker::wake);
        Some(Self { jobs, place })
    }

    /// Runs the shares that this thread, which is this worker, has been called for.
    pub(crate) fn run_called(&self, worker: &Worker) {
        let Some(place) = self.place else { return };
        loop {
            let share = {
                let mut waits = WAITS.get().lock();
                // In a child that a share has forked, there is none.
                let Some(waits) = waits.of_workers.get_mut(place) else { return };
                waits.last_mut().and_then(|wait| wait.called.pop())
            };
            let Some(share) = share else { return };
            worker.run_share(share);
        }
    }
}

/// How often a dump tries to read the waits: the lock is held for less than a microsecond at a time by a thread that runs.
const ATTEMPTS: usize = 100;

/// A wait for a dump: the index of the worker, whether the end of one of the jobs ends the wait, and the jobs, of which there are
/// none in a wait for many.
pub(crate) type Listed = (usize, bool, Vec<JobId>);

/// The waits of the workers of a pool, for a dump. An inner wait comes first. `None` if other threads change the list at each
/// attempt: a dump waits for none of them.
pub(crate) fn waits_of(pool: Key) -> Option<Vec<Listed>> {
    let attempt = || {
        let waits = WAITS.get().try_lock();
        if waits.is_none() {
            hint::spin_loop();
        }
        waits
    };
    let waits = core::iter::repeat_with(attempt).take(ATTEMPTS).flatten().next()?;
    let of_pool = waits.of_workers.iter().filter(|((key, _), _)| *key == pool);
    let listed = of_pool.flat_map(|((_, index), all)| {
        all.iter().rev().map(move |wait| {
            let jobs = wait.awaited.targets().iter().map(|target| target.job).collect();
            (index, matches!(wait.awaited, Awaited::Any(_)), jobs)
        })
    });
    Some(listed.collect())
}

impl Waits {
    /// Calls a worker for a share; returns its waker.
    fn call(&mut self, (place, share): (Place, JobId)) -> Option<Waker> {
        let wait = self.of_workers.get_mut(place)?.last_mut()?;
        wait.called.push(share);
        wait.waker.clone()
    }
}

/// The search for a cycle that a new wait would close.
struct Search<'a> {
    waits: &'a Waits,
    /// The worker that this thread is.
    place: Option<Place>,
    /// Whether this thread can be called.
    is_callable: bool,
    /// For each job whether it never ends, given that the jobs of this thread do not.
    never: SortedMap<JobId, bool>,
    /// For each worker whether its waits never end, likewise.
    stuck: SortedMap<Place, bool>,
    /// The workers to call, if the new wait is listed.
    called: Vec<(Place, JobId)>,
}

impl<'a> Search<'a> {
    fn new(waits: &'a Waits, jobs: &[JobId], place: Option<Place>, is_callable: bool) -> Self {
        let (mut never, mut stuck) = (SortedMap::default(), SortedMap::default());
        for &job in jobs {
            *never.get_or_default(job) = true;
        }
        if let Some(place) = place {
            *stuck.get_or_default(place) = true;
        }
        Self { waits, place, is_callable, never, stuck, called: Vec::new() }
    }

    /// Whether a wait never ends.
    fn never_ends(&mut self, awaited: &Awaited) -> bool {
        match awaited {
            Awaited::One(target) => self.is_stuck(target),
            Awaited::All(targets) => targets.iter().any(|target| self.is_stuck(target)),
            Awaited::Any(targets) => {
                !targets.is_empty() && targets.iter().all(|target| self.is_stuck(target))
            }
        }
    }

    /// Whether a job never ends.
    fn is_stuck(&mut self, &Target { job, place }: &Target) -> bool {
        if let Some(&known) = self.never.get(job) {
            return known;
        }
        // A cycle without this thread would have been found by the wait that closed it.
        *self.never.get_or_default(job) = false;
        let is_stuck = match (self.waits.of_jobs.get(job), place) {
            (Some(all), _) => all.iter().any(|wait| self.never_ends(wait)),
            (None, Some(place)) => self.is_kept(job, place),
            (None, None) => false,
        };
        *self.never.get_or_default(job) = is_stuck;
        is_stuck
    }

    /// Whether a share that does not wait itself never starts, as the waits of its worker never end; calls the worker if it
    /// can. A share that has just ended, or is being dropped by another thread, is not there when the worker looks for it.
    fn is_kept(&mut self, share: JobId, place: Place) -> bool {
        if !self.is_blocked(place) {
            return false;
        }
        let is_callable = match self.place == Some(place) {
            true => self.is_callable,
            false => {
                let wait = self.waits.of_workers.get(place).and_then(|waits| waits.last());
                wait.is_some_and(|wait| wait.waker.is_some())
            }
        };
        if is_callable {
            self.called.push((place, share));
        }
        !is_callable
    }

    /// Whether a wait of this worker never ends.
    fn is_blocked(&mut self, place: Place) -> bool {
        if let Some(&known) = self.stuck.get(place) {
            return known;
        }
        let Some(all) = self.waits.of_workers.get(place) else { return false };
        *self.stuck.get_or_default(place) = false;
        let is_blocked = all.iter().any(|wait| self.never_ends(&wait.awaited));
        *self.stuck.get_or_default(place) = is_blocked;
        is_blocked
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.jobs.is_empty() && self.place.is_none() {
            return;
        }
        let mut waits = WAITS.get().lock();
        // The innermost: waits of one thread end in the opposite order.
        for &job in &self.jobs {
            waits.of_jobs.remove_if(job, |all| all.pop().is_some() && all.is_empty());
        }
        let mut over = None;
        if let Some(place) = self.place {
            waits.of_workers.remove_if(place, |all| {
                over = all.pop();
                if let (Some(over), Some(outer)) = (&mut over, all.last_mut()) {
                    // The outer wait may depend on them too; it looks when this one has returned.
                    outer.called.append(&mut over.called);
                }
                all.is_empty()
            });
        }
        // Its waker may be the last reference to a thread or a pool.
        drop(waits);
        drop(over);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use brigade_testkit::Watchdog;

    use super::WAITS;
    use crate::Pool;

    #[test]
    fn a_dump_does_not_wait_for_the_list_of_waits_and_says_so() {
        let _dog = Watchdog::start(20);
        let pool = Pool::new(1);
        let handle = pool.handle();
        let waits = WAITS.get().lock();
        let dump = thread::spawn(move || handle.dump()).join().unwrap();
        assert!(!dump.are_waits_known && dump.threads == 1, "{dump}");
        assert!(dump.to_string().contains("what waits for what is not known"), "{dump}");
        drop(waits);
        let known = || pool.dump().are_waits_known;
        brigade_testkit::eventually("the other tests let it be read", known);
    }
}
