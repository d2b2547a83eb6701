//! The system's account of this process: context switches, page faults, and where the CPU time went.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// The use of all threads of this process so far, ended threads included.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Usage {
    /// Context switches of threads when they gave up a CPU, to wait.
    pub(crate) voluntary: f64,
    /// Context switches of threads when they lost a CPU to another.
    pub(crate) involuntary: f64,
    /// Page faults, with and without a read from a disk.
    pub(crate) faults: f64,
    /// Seconds of CPU time outside the kernel.
    pub(crate) user: f64,
    /// Seconds of CPU time in the kernel.
    pub(crate) system: f64,
    /// The most resident bytes at a time.
    #[serde(skip)]
    pub(crate) peak: f64,
}

impl Usage {
    /// Reads it.
    pub(crate) fn now() -> Self {
        Usage::of(UsageWho::RUSAGE_SELF)
    }

    /// The same, including all processes started and awaited by this process.
    pub(crate) fn of_all() -> Self {
        Usage::now().plus(Usage::of_children(), 1.0)
    }

    /// The same for the ended children of this process, and for theirs. The peak is the largest child's, and no less than this
    /// process's memory at the child's start.
    pub(crate) fn of_children() -> Self {
        Usage::of(UsageWho::RUSAGE_CHILDREN)
    }

    /// Reads the use of these.
    fn of(whom: UsageWho) -> Self {
        // Apple's systems count bytes, and others kilobytes.
        let unit = if cfg!(target_vendor = "apple") { 1.0 } else { 1024.0 };
        let read = |usage: nix::sys::resource::Usage| Usage {
            voluntary: usage.voluntary_context_switches() as f64,
            involuntary: usage.involuntary_context_switches() as f64,
            faults: (usage.minor_page_faults() + usage.major_page_faults()) as f64,
            user: usage.user_time().num_microseconds() as f64 / 1e6,
            system: usage.system_time().num_microseconds() as f64 / 1e6,
            peak: usage.max_rss() as f64 * unit,
        };
        // A process may always ask about itself.
        getrusage(whom).map_or_else(|_| Usage::default(), read)
    }

    /// The use since this was read.
    pub(crate) fn since(self) -> Self {
        Usage::now().plus(self, -1.0)
    }

    /// All context switches.
    pub(crate) fn switches(self) -> f64 {
        self.voluntary + self.involuntary
    }

    /// Seconds of CPU time.
    pub(crate) fn cpu(self) -> f64 {
        self.user + self.system
    }

    /// This and so many times the other.
    pub(crate) fn plus(self, other: Self, times: f64) -> Self {
        Usage {
            voluntary: self.voluntary + times * other.voluntary,
            involuntary: self.involuntary + times * other.involuntary,
            faults: self.faults + times * other.faults,
            user: self.user + times * other.user,
            system: self.system + times * other.system,
            // No sum or difference: the later or greater of two.
            peak: self.peak.max(other.peak),
        }
    }
}

/// The total cost of a run: from before the target starts until after it has ended, beside the workload's own measurement.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Spent {
    /// Seconds.
    pub(crate) wall: f64,
    /// The use of this process, and of the processes started for the run.
    #[serde(flatten)]
    pub(crate) usage: Usage,
    /// How many single values are behind the percentiles, if any.
    pub(crate) count: u64,
}

#[cfg(test)]
mod tests {
    use super::Usage;
    use std::hint::black_box;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn an_ended_threads_switches_are_counted() {
        let before = Usage::now();
        let sleepy = || (0..1_000).for_each(|_| thread::sleep(Duration::from_micros(1)));
        thread::spawn(sleepy).join().expect("slept");
        assert!(before.since().switches() >= 1_000.0);
    }

    #[test]
    fn fresh_memory_faults_and_a_loop_is_user_time() {
        let before = Usage::now();
        drop(black_box(vec![1_u8; 64 << 20]));
        // A page of a huge size may be one fault.
        assert!(before.since().faults >= 1.0, "{:?}", before.since());
        while before.since().user < 0.01 {
            black_box(());
        }
        assert!(before.since().system >= 0.0);
    }
}
