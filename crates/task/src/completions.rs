//! The completions of a set of jobs.

use core::mem;
use core::task::Waker;
use std::sync::Arc;

use brigade_sync::atomic::Ordering;

use crate::cell::CompletedList;
use crate::contain::drop_contained;
use crate::job::Job;
use crate::join::JoinHandle;
use crate::work::Work;

/// Tells which jobs of a set have ended, in the order in which they have.
///
/// Each job has a key, which the set chooses. A member of the set is listed once, when it ends. If the handle is dropped
/// before the end, it leaves the set.
///
/// ```
/// use brigade_task::Completions;
/// let mut completions = Completions::new();
/// let (first, _first_handle) = completions.job(7, || 6 * 7);
/// let (second, second_handle) = completions.job(8, || 6 * 8);
/// second.run();
/// first.run();
/// assert_eq!(completions.take().collect::<Vec<_>>(), [8, 7]);
/// assert_eq!(second_handle.join()?, 48);
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
#[derive(Default)]
pub struct Completions {
    list: Arc<CompletedList>,
    /// The keys taken last, whose memory the list gets with the next take.
    taken: Vec<usize>,
}

impl Completions {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Like [`Job::with_handle`], with the job in the set.
    #[inline]
    pub fn job<W, T>(&self, key: usize, work: W) -> (Job, JoinHandle<T>)
    where
        W: Work<Output = T>,
        T: Send + 'static,
    {
        let (job, handle) = Job::with_handle(work);
        // SAFETY: it is a new closure, and no other thread knows the job or the handle.
        unsafe { handle.raw().begin_as_member(self.list.clone(), key) };
        (job, handle)
    }

    /// Has `on_end` called with the key of each job at its end from now on, after the job has been listed and the wait has been woken,
    /// on the thread that ended the job. The set must have no such closure yet.
    pub fn tell(&self, on_end: impl Fn(usize) + Send + Sync + 'static) {
        _ = self.list.on_end.set(Box::new(on_end));
    }

    /// Adds a job to the set, in place of any other set or waker; `false` if it has ended already, and then it is not listed.
    #[must_use]
    pub fn add<T>(&self, key: usize, handle: &mut JoinHandle<T>) -> bool {
        !handle.is_finished() && handle.raw().report_to(&self.list, key)
    }

    /// Whether [`take`](Self::take) may return anything, or a [`wait`](Self::wait) may go on.
    #[inline]
    pub fn is_any(&self) -> bool {
        // Ordering: Relaxed: a hint; the lock acquires.
        self.list.is_any.load(Ordering::Relaxed)
    }

    /// Takes the keys of the jobs ended since the last call. An unfinished [`wait`](Self::wait) counts from here.
    ///
    /// Keys that the iterator does not return are lost.
    pub fn take(&mut self) -> impl Iterator<Item = usize> {
        self.taken.clear();
        if let Some(mut keys) = self.list.keys() {
            mem::swap(&mut keys.list, &mut self.taken);
            self.list.is_any.store(keys.wait.is_some(), Ordering::Relaxed);
        }
        self.taken.iter().copied()
    }

    /// Wakes `waker` once when this many keys can be taken, in place of any other wait; `false` if they can be already, or in a forked
    /// child.
    ///
    /// The wait goes on until then, or until [`stop_waiting`](Self::stop_waiting).
    #[must_use]
    pub fn wait(&mut self, keys: usize, waker: Waker) -> bool {
        let Some(mut listed) = self.list.keys() else { return false };
        let waits = listed.list.len() < keys;
        let (wait, unused) = if waits { (Some((keys, waker)), None) } else { (None, Some(waker)) };
        let former = mem::replace(&mut listed.wait, wait);
        self.list.is_any.store(true, Ordering::Relaxed);
        drop(listed);
        // May be user code.
        drop_contained((former, unused));
        waits
    }

    /// Ends the wait; returns the waker unless it has been woken.
    pub fn stop_waiting(&mut self) -> Option<Waker> {
        self.list.keys()?.wait.take().map(|(_, waker)| waker)
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // The jobs keep the list, and the waker may own this. May be user code.
        drop_contained(self.stop_waiting());
    }
}

brigade_sync::opaque!(Completions: is_any);

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    #![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

    use brigade_sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::act::Outcome;
    use crate::cause::Cause;
    use crate::error::JoinError;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    type Member = (Job, JoinHandle<usize>);

    /// A set, some jobs with their numbers as keys and results, and a counting waker.
    fn set_of(jobs: usize) -> (Completions, Vec<Member>, Arc<Count>, impl Fn() -> usize) {
        let set = Completions::new();
        let jobs = (0..jobs).map(|key| set.job(key, move || key)).collect();
        let count = Arc::new(Count::default());
        let seen = count.clone();
        (set, jobs, count, move || seen.0.swap(0, Ordering::Relaxed))
    }

    fn is_waiting(set: &Completions) -> bool {
        set.list.keys().unwrap().wait.is_some()
    }

    fn taken(set: &mut Completions) -> Vec<usize> {
        set.take().collect()
    }

    #[test]
    fn completions_are_listed_in_their_order() {
        let (mut set, jobs, ..) = set_of(4);
        assert!(!set.is_any());
        let mut handles = Vec::new();
        for (number, (job, handle)) in jobs.into_iter().enumerate().rev() {
            match number {
                0 => assert_eq!(job.run(), Outcome::Returned),
                1 => drop(job),
                2 => assert_eq!(handle.settle_if_unclaimed(None), Some(Outcome::Returned)),
                _ => {
                    let canceller = handle.canceller().unwrap();
                    assert_eq!(
                        canceller.drop_if_unclaimed(Cause::Asked),
                        Some(Outcome::Cancelled(Cause::Asked))
                    );
                }
            }
            handles.push(handle);
        }
        assert!(set.is_any());
        assert_eq!(taken(&mut set), [3, 2, 1, 0]);
        assert!(!set.is_any() && taken(&mut set).is_empty());
        let ran = handles.into_iter().rev().map(|handle| handle.join().ok());
        assert_eq!(ran.collect::<Vec<_>>(), [Some(0), None, Some(2), None]);
    }

    #[test]
    fn each_end_is_told_after_its_listing() {
        let (set, jobs, _, woken) = set_of(3);
        let set = Arc::new(std::sync::Mutex::new(set));
        let (told, seen) = (Arc::new(std::sync::Mutex::new(Vec::new())), Arc::downgrade(&set));
        let tells = told.clone();
        set.lock().unwrap().tell(move |key| {
            let set = seen.upgrade().unwrap();
            let listed: Vec<_> = set.lock().unwrap().take().collect();
            tells.lock().unwrap().push((key, listed));
        });
        let [first, (job, mut left), last] = jobs.try_into().unwrap();
        assert!(left.leave());
        for job in [last.0, job, first.0] {
            job.run();
        }
        assert!(!left.leave(), "it has ended");
        assert_eq!(*told.lock().unwrap(), [(2, vec![2]), (0, vec![0])]);
        assert_eq!((woken(), left.join().unwrap()), (0, 1));
    }

    #[test]
    fn a_leaving_job_is_not_listed() {
        let (mut set, mut jobs, count, _) = set_of(4);
        let (job, mut handle) = jobs.pop().unwrap();
        assert_eq!(handle.leave_and_settle(None), Some(Outcome::Returned));
        assert_eq!(handle.leave_and_settle(None), None);
        assert_eq!((job.run(), handle.join().unwrap()), (Outcome::Stale, 3));
        let (job, handle) = jobs.pop().unwrap();
        drop(handle);
        assert_eq!(job.run(), Outcome::Returned);
        let (job, mut handle) = jobs.pop().unwrap();
        assert!(handle.wake_when_finished(&count.clone().into()));
        assert_eq!(job.run(), Outcome::Returned);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        let (job, mut handle) = jobs.pop().unwrap();
        let mut other = Completions::new();
        assert!(other.add(7, &mut handle));
        job.run();
        assert!(!other.add(8, &mut handle), "it has ended");
        assert_eq!((taken(&mut set), taken(&mut other)), (vec![], vec![7]));
    }

    #[test]
    fn a_wait_is_woken_once_for_enough_ends() {
        let (mut set, jobs, count, woken) = set_of(4);
        let (jobs, _handles): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let mut jobs = jobs.into_iter();
        assert!(set.wait(2, count.clone().into()));
        jobs.next().map(Job::run);
        assert_eq!((woken(), is_waiting(&set)), (0, true));
        jobs.next().map(Job::run);
        assert_eq!((woken(), is_waiting(&set)), (1, false));
        jobs.next().map(Job::run);
        assert!(!set.wait(3, count.clone().into()), "there are three");
        assert_eq!(taken(&mut set), [0, 1, 2]);
        assert!(set.wait(1, count.clone().into()));
        assert!(set.stop_waiting().is_some() && set.stop_waiting().is_none());
        jobs.next().map(Job::run);
        assert_eq!((woken(), taken(&mut set)), (0, vec![3]));
        assert_eq!(Arc::strong_count(&count), 2, "no waker is left");
    }

    #[test]
    fn a_short_take_lets_the_wait_go_on() {
        let (mut set, jobs, count, woken) = set_of(3);
        let (jobs, _handles): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let mut jobs = jobs.into_iter();
        assert!(set.wait(2, count.clone().into()));
        jobs.next().map(Job::run);
        assert_eq!(taken(&mut set), [0]);
        jobs.next().map(Job::run);
        assert_eq!((woken(), is_waiting(&set)), (0, true), "one since the take");
        jobs.next().map(Job::run);
        assert_eq!((woken(), taken(&mut set)), (1, vec![1, 2]));
    }

    #[test]
    fn a_dropped_set_leaves_its_jobs() {
        let (mut set, jobs, count, woken) = set_of(3);
        assert!(set.wait(2, count.clone().into()));
        let mut jobs = jobs.into_iter();
        let (first, mut first_handle) = jobs.next().unwrap();
        first.run();
        drop(set);
        assert_eq!(Arc::strong_count(&count), 2, "no waker is left");
        let (second, mut second_handle) = jobs.next().unwrap();
        second.run();
        drop(jobs);
        assert_eq!(first_handle.try_join().unwrap().unwrap(), 0);
        assert_eq!(second_handle.try_join().unwrap().unwrap(), 1);
        assert_eq!(woken(), 0);
    }

    #[test]
    fn a_panicking_waker_is_contained() {
        struct Panics;
        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("contained");
            }
        }
        let mut set = Completions::new();
        let (job, handle) = set.job(0, || -> () { panic!("its own") });
        assert!(set.wait(1, Arc::new(Panics).into()));
        assert_eq!(job.run(), Outcome::Panicked);
        let Err(JoinError::Panicked(panic)) = handle.join() else { panic!("it has panicked") };
        assert_eq!(panic.message(), Some("its own"));
        assert_eq!(taken(&mut set), [0]);
    }
}
