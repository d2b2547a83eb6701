//! Puts the threads of a run on CPUs, for values that depend on the places of two threads: a hop between them, and a wake-up.

use std::io;

use clap::ValueEnum;
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::census::Census;

/// Where the threads of a run are: the target's threads, and the submitting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pin {
    /// All of them on a single CPU.
    One,
    /// Each on the next CPU, the submitting thread on the first.
    Apart,
}

impl Pin {
    /// Puts this thread, and all threads missing in `others`, there. A thread started later by any of them stays on the starter's CPU.
    #[cfg(target_os = "linux")]
    pub(crate) fn place(self, others: &Census) -> io::Result<()> {
        let allowed = allowed();
        let new = others.newcomers()?.into_iter().filter_map(rustix::process::Pid::from_raw);
        // The first is this thread. It stands among the new threads too, unless it was there before.
        let this = rustix::thread::gettid();
        let threads = [this].into_iter().chain(new.filter(|&thread| thread != this));
        for (thread, next) in threads.zip(0..) {
            let cpu = match self {
                Pin::One => allowed[0],
                Pin::Apart => allowed[next % allowed.len()],
            };
            let mut only = CpuSet::new();
            only.set(cpu);
            match sched_setaffinity(Some(thread), &only) {
                // It has ended since.
                Err(rustix::io::Errno::SRCH) => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Where threads can't be placed, this is an error.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn place(self, _: &Census) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "threads can be pinned on Linux only"))
    }
}

/// The CPUs on which this thread may run; none where the system does not tell.
pub(crate) fn allowed() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    if let Ok(set) = sched_getaffinity(None) {
        return (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
    }
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests {
    use super::{Pin, allowed};
    use crate::census::Census;
    use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
    use std::thread;

    /// Until this is dropped, no other test puts threads on CPUs: threads started meanwhile may belong to any test.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        static PLACES: Mutex<()> = Mutex::new(());
        PLACES.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn threads_are_on_one_cpu_or_apart() {
        let _alone = alone();
        // On a separate thread, as its CPUs are changed.
        let run = |pin: Pin| {
            let (before, census, barrier) =
                (allowed(), Census::take().expect("threads"), Barrier::new(2));
            thread::scope(|scope| {
                let other = scope.spawn(|| {
                    barrier.wait();
                    barrier.wait();
                    allowed()
                });
                barrier.wait();
                let placed = pin.place(&census);
                // A failing test must not leave it waiting.
                barrier.wait();
                placed.expect("placed");
                (before, allowed(), other.join().expect("its CPUs"))
            })
        };
        let place = |pin| thread::scope(|scope| scope.spawn(|| run(pin)).join().expect("placed"));
        let (before, this, other) = place(Pin::One);
        assert_eq!((&this, &other), (&before[..1].to_vec(), &before[..1].to_vec()));
        let (before, this, other) = place(Pin::Apart);
        assert_eq!((this, other.len()), (before[..1].to_vec(), 1));
    }
}
