//! Reading what the workers of a pool do and have done.

#[cfg(feature = "histograms")]
use brigade_observe::Histograms;
use brigade_observe::{Dump, JobDump, Stretch, WaitDump};
use brigade_task::JobId;

use super::Handle;
use super::deadlock::listed::waits_of;
use crate::engine::find;

impl Handle {
    /// Returns a snapshot of the pool: the numbers of threads, of queued jobs and of pending futures, and the waits of
    /// workers for each other. If the pool's jobs are [observed](crate::Builder::observe_jobs), it lists jobs by name,
    /// place and time, too:
    ///
    /// - the stack of running jobs of each worker, and borrowing calls from threads outside of the pool;
    /// - [queued jobs](Dump::queued_jobs), by class;
    /// - [pending futures](Dump::futures), with what each [awaits](crate::Awaits): a timer, a socket, another job, or
    ///   something outside of brigade;
    /// - the timers that are [due next](Dump::due);
    /// - closures that [returned a future](Dump::returned_futures), which nothing may ever poll.
    ///
    /// May be called from any thread at any time, even if the pool hangs: it takes none of the locks used to find
    /// work, sleep and wake, and never waits for a thread that is about to wait for a job. No user code runs under a
    /// lock that it takes, so hooks, wakers and destructors may call it. The numbers may stem from slightly different
    /// moments, and need not add up. Of an observed pool it reads each unfinished job.
    ///
    /// Waits are listed unless the list of waits was being changed ([`Dump::are_waits_known`]).
    ///
    /// ```
    /// let pool = brigade::Pool::builder().threads(2).observe_jobs().build()?;
    /// let handle = pool.handle();
    /// let text = pool.submit(move || handle.dump().to_string()).join()?;
    /// assert!(text.contains("worker 0: 0 jobs queued"));
    /// assert!(text.contains("runs a job from"), "and the line: {text}");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// ```
    /// use std::time::Duration;
    /// let pool = brigade::Pool::builder().threads(2).observe_jobs().build()?;
    /// let alice = pool.job().name("alice").spawn(brigade::time::sleep(Duration::from_secs(60)))?;
    /// let bob = pool.job().name("bob").spawn(alice)?;
    /// while pool.dump().futures.len() < 2 {
    ///     std::thread::sleep(Duration::from_millis(1));
    /// }
    /// // future: alice from src/main.rs:5:38, 1.2ms old, polled 1.1ms ago, waits for a timer, due in 60.0s
    /// // future: bob from src/main.rs:6:36, 1.2ms old, polled 1.1ms ago, waits for the end of alice from src/main.rs:5:38
    /// let text = pool.dump().to_string();
    /// assert!(text.contains("waits for a timer, due in"), "{text}");
    /// assert!(text.contains("waits for the end of alice from"), "{text}");
    /// bob.cancel();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn dump(&self) -> Dump {
        let Ok(shared) = find(self.key) else { return Dump::of_none() };
        let (mut dump, running) = shared.dump();
        let Some(waits) = waits_of(self.key) else {
            dump.are_waits_known = false;
            return dump;
        };
        dump.are_waits_known = true;
        for (index, is_for_any, awaited) in waits {
            if let Some(worker) = dump.workers.get_mut(index) {
                let mut wait = WaitDump::default();
                (wait.is_for_any, wait.awaited) = (is_for_any, awaited.len());
                note_running(&mut wait, &awaited, &running);
                if let Some(observer) = &shared.config.observer {
                    wait.pending = observer.pending(&awaited);
                }
                worker.waits.push(wait);
            }
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
        find(self.key).ok()?.config.observer.as_ref()?.histograms()
    }
}

/// Notes the awaited jobs that run.
fn note_running(wait: &mut WaitDump, awaited: &[JobId], running: &[Vec<Stretch>]) {
    for (index, all) in running.iter().enumerate() {
        for one in all {
            if one.id.is_some_and(|id| awaited.contains(&id)) {
                wait.running.push((index, JobDump::new(one)));
            }
        }
    }
}
