//! Detection of waits that would never end because they wait for each other.
//!
//! A job waits while a thread that runs the job, or a part of its fork or scope, is blocked until other jobs have
//! ended. A thread may run several nested jobs, and then all of them wait. A wait may also be nested in a wait, in a
//! local future polled by the waiting thread. A waiting job can't end before its waits do, so a cycle of such waits
//! never ends. Each wait is listed here before the thread blocks, in one step with the search for a cycle. So the
//! wait that would close a cycle sees the rest of the cycle, even across pools.
//!
//! Waits with a timeout are not listed, because they end. Only waits for the handles of jobs are listed.
//!
//! A job bound to a worker (a share of a broadcast, a local future) needs no special case: the worker runs it inside
//! each of its waits.
//!
//! **Name rule.** A waiting job is running, and the handle of an awaited job outlives the entry. So no `JobId` in
//! this list stands for two jobs.

use brigade_sync::Mutex;
use brigade_sync::fork::PerProcess;
use brigade_sync::hint;
use brigade_task::{JobId, for_each_running};

use crate::engine::{CURRENT, Key, SortedMap};

/// The waits of this process.
static WAITS: PerProcess<Mutex<Waits>> = PerProcess::new();

/// The nested waits of each job and worker. A job can't end before all its waits have ended.
#[derive(Default)]
struct Waits {
    /// The numbered waits of each waiting job.
    of_jobs: SortedMap<JobId, Vec<(u64, Awaited)>>,
    /// The waits of each worker, for a dump.
    of_workers: SortedMap<Place, Vec<Awaited>>,
    /// The number of waits listed so far, which is the number of the next wait.
    count: u64,
}

/// A worker: its pool and its index.
type Place = (Key, usize);

/// The condition that ends a wait.
#[derive(Clone)]
pub(crate) enum Awaited {
    /// The end of this job.
    One(JobId),
    /// The end of each of these jobs.
    All(Vec<JobId>),
    /// The end of any of these jobs.
    Any(Vec<JobId>),
}

/// The maximum number of jobs in a listed wait. A new wait of any length is checked for a cycle. Listing a longer
/// wait would repeat the search through it, under the lock, at each wait of another job.
const MOST: usize = 64;

/// The listed wait of a thread: the jobs that it runs, or runs parts of, and its worker.
pub(crate) struct Waiting {
    number: u64,
    jobs: Vec<JobId>,
    place: Option<Place>,
}

impl Awaited {
    fn jobs(&self) -> &[JobId] {
        match self {
            Self::One(job) => core::slice::from_ref(job),
            Self::All(jobs) | Self::Any(jobs) => jobs,
        }
    }
}

impl Waiting {
    /// Lists the jobs of this thread as waiting for `awaited`. Returns `None` if the wait would never end, because it
    /// waits for one of these jobs.
    ///
    /// The handles of the awaited jobs must outlive the value (Name rule).
    pub(crate) fn begin(awaited: Awaited) -> Option<Self> {
        let mut jobs = Vec::new();
        for_each_running(|job| jobs.push(job));
        jobs.sort_unstable();
        jobs.dedup();
        let place = CURRENT.with(|worker| worker.map(|worker| (worker.key(), worker.index())));
        if jobs.is_empty() && place.is_none() {
            // No job can wait for us.
            return Some(Self { number: 0, jobs, place });
        }
        let mut waits = WAITS.get().lock();
        if Search::new(&waits, &jobs).never_ends(&awaited) {
            return None;
        }
        let is_long = awaited.jobs().len() > MOST;
        if is_long {
            jobs.clear();
        }
        let number = waits.count;
        waits.count += 1;
        for &job in &jobs {
            waits.of_jobs.get_or_default(job).push((number, awaited.clone()));
        }
        if let Some(place) = place {
            let awaited = if is_long { Awaited::All(Vec::new()) } else { awaited };
            waits.of_workers.get_or_default(place).push(awaited);
        }
        Some(Self { number, jobs, place })
    }
}

/// The number of attempts of a dump to read the waits. A running thread holds the lock for less than a microsecond at
/// a time.
const ATTEMPTS: usize = 100;

/// A wait for a dump: the index of the worker, whether the end of any of the jobs ends the wait, and the jobs. The
/// jobs of a wait for more than `MOST` jobs are omitted.
pub(crate) type Listed = (usize, bool, Vec<JobId>);

/// Returns the waits of the workers of a pool, for a dump, innermost first. Returns `None` if the list was locked at
/// each attempt: a dump never waits for the lock.
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
        all.iter().rev().map(move |awaited| {
            (index, matches!(awaited, Awaited::Any(_)), awaited.jobs().to_vec())
        })
    });
    Some(listed.collect())
}

/// The search for a cycle closed by a new wait.
struct Search<'a> {
    waits: &'a Waits,
    /// For each job, whether it never ends, given that the jobs of this thread never end.
    never: SortedMap<JobId, bool>,
}

impl<'a> Search<'a> {
    fn new(waits: &'a Waits, jobs: &[JobId]) -> Self {
        let mut never = SortedMap::default();
        for &job in jobs {
            *never.get_or_default(job) = true;
        }
        Self { waits, never }
    }

    /// Whether a wait never ends.
    fn never_ends(&mut self, awaited: &Awaited) -> bool {
        match awaited {
            Awaited::One(job) => self.is_stuck(*job),
            Awaited::All(jobs) => jobs.iter().any(|&job| self.is_stuck(job)),
            Awaited::Any(jobs) => !jobs.is_empty() && jobs.iter().all(|&job| self.is_stuck(job)),
        }
    }

    /// Whether a job never ends.
    fn is_stuck(&mut self, job: JobId) -> bool {
        if let Some(&known) = self.never.get(job) {
            return known;
        }
        // A cycle without this thread would have been found by the wait that closed it.
        *self.never.get_or_default(job) = false;
        let waits = self.waits;
        let is_stuck = waits
            .of_jobs
            .get(job)
            .is_some_and(|all| all.iter().any(|(_, wait)| self.never_ends(wait)));
        *self.never.get_or_default(job) = is_stuck;
        is_stuck
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.jobs.is_empty() && self.place.is_none() {
            return;
        }
        let mut waits = WAITS.get().lock();
        for &job in &self.jobs {
            waits.of_jobs.remove_if(job, |all| {
                all.retain(|(number, _)| *number != self.number);
                all.is_empty()
            });
        }
        // The innermost wait: waits of one thread end in the opposite order.
        if let Some(place) = self.place {
            waits.of_workers.remove_if(place, |all| all.pop().is_some() && all.is_empty());
        }
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
