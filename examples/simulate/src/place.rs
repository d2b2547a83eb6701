//! Puts a thread and the workers of its pool on CPUs: in the model each thread has a CPU of its own.

use std::collections::HashSet;
use std::ffi::OsString;
use std::{fs, io, panic, thread};

use anyhow::Context;
use brigade::Pool;

/// The directory in which Linux lists the threads of this process. Elsewhere threads are left to the kernel.
const TASKS: &str = "/proc/self/task";

/// The CPUs of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The CPUs after the first, round robin over all of them.
    Apart,
    /// Any CPU but the first, on which the calling thread runs.
    Beside,
}

impl Place {
    /// The CPU of the thread with this index, of those allowed. The thread that submits has index 0.
    #[cfg(target_os = "linux")]
    fn cpu(self, index: usize, allowed: &[usize]) -> usize {
        match self {
            Place::Beside if index > 0 && allowed.len() > 1 => {
                allowed[1 + (index - 1) % (allowed.len() - 1)]
            }
            Place::Beside => allowed[0],
            Place::Apart => allowed[index % allowed.len()],
        }
    }

    /// Pins this thread and every thread that is not in `before`.
    #[cfg(target_os = "linux")]
    pub(crate) fn pin(self, before: &HashSet<OsString>) -> io::Result<()> {
        use rustix::thread::{CpuSet, Pid, gettid, sched_setaffinity};

        let mut new: Vec<_> = threads()?.difference(before).cloned().collect();
        // Shorter numbers are smaller.
        new.sort_by_key(|name| (name.len(), name.clone()));
        let new = new.iter().filter_map(|name| Pid::from_raw(name.to_str()?.parse().ok()?));
        let (this, allowed) = (gettid(), allowed()?);
        let all = [this].into_iter().chain(new.filter(|&thread| thread != this));
        for (index, thread) in all.enumerate() {
            let mut only = CpuSet::new();
            only.set(self.cpu(index, &allowed));
            match sched_setaffinity(Some(thread), &only) {
                // The thread has ended since.
                Err(rustix::io::Errno::SRCH) => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn pin(self, _: &HashSet<OsString>) -> io::Result<()> {
        Ok(())
    }

    /// Runs `run` on a thread of its own with a warm pool of that many workers, all of them pinned. If pinning is refused, the kernel
    /// places them: often both on one CPU, without a transfer, without an interrupt for a wake-up, and one after the other.
    pub(crate) fn with_pool<T: Send>(
        self,
        workers: usize,
        run: impl FnOnce(&Pool) -> T + Send,
    ) -> anyhow::Result<T> {
        let placed = || {
            let before = threads();
            let pool = Pool::builder().threads(workers).build().context("no pool")?;
            // Its threads are there then.
            (0..4 * workers).for_each(|_| pool.execute(|| ()));
            pool.wait_idle();
            let _ = before.and_then(|before| self.pin(&before));
            Ok(run(&pool))
        };
        thread::scope(|scope| {
            scope.spawn(placed).join().unwrap_or_else(|cause| panic::resume_unwind(cause))
        })
    }
}

/// The numbers of the present threads of this process.
pub(crate) fn threads() -> io::Result<HashSet<OsString>> {
    fs::read_dir(TASKS)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// The CPUs that this thread may run on.
#[cfg(target_os = "linux")]
fn allowed() -> io::Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Place, allowed};

    #[test]
    fn the_measured_worker_and_the_meter_have_a_cpu_each() {
        let mine = || allowed().expect("a set");
        let before = mine();
        let (this, worker) = Place::Beside
            .with_pool(1, |pool| (mine(), pool.submit(mine).join().expect("it ran")))
            .expect("a pool");
        assert_eq!((this.len(), worker.len()), (1, 1));
        assert_eq!(this != worker, before.len() > 1, "{this:?} {worker:?}");
        assert_eq!(mine(), before, "this thread is left where it was");
    }
}
