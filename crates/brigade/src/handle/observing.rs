//! Reading what the workers of a pool do and have done.

#[cfg(feature = "histograms")]
use brigade_observe::Histograms;
use brigade_observe::{Dump, JobDump, Stretch, WaitDump};

use super::Handle;
use super::deadlock::waits_of;
use crate::engine::reach;

impl Handle {
    /// Returns a snapshot of the pool: the running jobs of each worker and their start times, the numbers of queued
    /// jobs, and the waits of workers for each other.
    ///
    /// May be called from any thread at any time, even if the pool hangs: it takes none of the locks used to find
    /// work, sleep and wake, and never waits for a thread that is about to wait for a job. So the numbers may stem
    /// from slightly different moments, and need not add up.
    ///
    /// Running jobs, and borrowing calls from threads outside of the pool, are listed only if the pool's jobs are
    /// [observed](crate::Builder::observe_jobs). Waits are listed unless the list of waits was being changed
    /// ([`Dump::are_waits_known`]).
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(2).observe_jobs().build()?;
    /// let handle = pool.handle();
    /// let text = pool.submit(move || handle.dump().to_string()).join()?;
    /// assert!(text.contains("worker 0: 0 jobs queued"));
    /// assert!(text.contains("runs a job from"), "and the line: {text}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn dump(&self) -> Dump {
        let read = reach(self.key, |at| at.core().map(|core| core.dump()));
        let Some((mut dump, running)) = read else { return Dump::of_none() };
        let running = || {
            let indexed = running.iter().enumerate();
            indexed.flat_map(|(index, all)| all.iter().map(move |one| (index, one)))
        };
        let waits = waits_of(self.key);
        dump.are_waits_known = waits.is_some();
        for (index, is_for_any, awaited) in waits.into_iter().flatten() {
            let is_awaited =
                |&(_, one): &(usize, &Stretch)| one.id.is_some_and(|id| awaited.contains(&id));
            let mut wait = WaitDump::default();
            (wait.is_for_any, wait.awaited) = (is_for_any, awaited.len());
            let found = running().filter(is_awaited);
            wait.running = found.map(|(index, one)| (index, JobDump::new(one))).collect();
            let worker = dump.workers.get_mut(index);
            worker.into_iter().for_each(|worker| worker.waits.push(wait.clone()));
        }
        dump
    }

    /// Returns the waiting and running times of the pool's jobs since the pool was built. Returns `None` if the pool
    /// does not [record](crate::Builder::histograms) them, or no longer exists. Requires the feature `histograms`.
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(1).histograms().build()?;
    /// pool.submit(|| ()).join()?;
    /// let times = pool.histograms().ok_or("it records them")?;
    /// assert_eq!(times.running.count(), 1);
    /// assert_eq!(times.running.max(), times.running.quantile(1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "histograms")]
    #[must_use]
    pub fn histograms(&self) -> Option<Histograms> {
        reach(self.key, |at| at.core()?.config.observer.as_ref()?.histograms())
    }
}
