//! The threads of this process as the system lists them, independent of the counts of the targets.

use std::collections::BTreeSet;
use std::fs;
use std::io;

/// The directory in which Linux lists the threads of this process. No other system has it.
const TASKS: &str = "/proc/self/task";

/// The threads at a moment.
pub(crate) struct Census(BTreeSet<i32>);

impl Census {
    /// Whether threads can be counted here. Where they can't, a census is empty.
    pub(crate) const POSSIBLE: bool = cfg!(target_os = "linux");

    /// Lists the present threads.
    pub(crate) fn take() -> io::Result<Self> {
        if !Self::POSSIBLE {
            return Ok(Census(BTreeSet::new()));
        }
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        let threads = fs::read_dir(TASKS)?.map(|entry| entry.map(number));
        let threads = threads.collect::<io::Result<Vec<_>>>()?;
        Ok(Census(threads.into_iter().flatten().collect()))
    }

    /// The numbers of the present threads that are missing in this census, in ascending order.
    pub(crate) fn newcomers(&self) -> io::Result<Vec<i32>> {
        Self::take().map(|now| now.without(self))
    }

    /// The threads missing in another census. Their number is no difference of sizes, as threads of the
    /// other census may have ended in the meantime: a pool need not join its threads.
    fn without(&self, other: &Self) -> Vec<i32> {
        self.0.difference(&other.0).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Census;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn an_ended_thread_does_not_offset_a_new_one() {
        let census = |threads: [i32; 3]| Census(threads.into());
        assert_eq!(census([1, 3, 40]).without(&census([1, 2, 3])), [40]);
        assert!(census([3, 2, 1]).without(&census([1, 2, 3])).is_empty());
    }

    #[test]
    fn started_threads_are_newcomers_if_countable() {
        let (census, barrier) = (Census::take().expect("threads"), Barrier::new(4));
        thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(|| barrier.wait())));
            let newcomers = census.newcomers().expect("threads").len();
            // A failing test must not leave them waiting.
            barrier.wait();
            // Other tests of this process may start some too.
            assert!(newcomers >= 3 * usize::from(Census::POSSIBLE), "{newcomers}");
        });
    }
}
