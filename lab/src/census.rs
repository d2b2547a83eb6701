//! The threads of this process as the system lists them, independent of the counts of the targets.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;

/// The directory in which Linux lists the threads of this process. No other system has it.
const TASKS: &str = "/proc/self/task";

/// The threads of one moment.
pub(crate) struct Census(HashSet<OsString>);

impl Census {
    /// Whether threads can be counted here. Where they can't, a census is empty.
    pub(crate) const POSSIBLE: bool = cfg!(target_os = "linux");

    /// Lists the present threads.
    pub(crate) fn take() -> io::Result<Self> {
        if !Self::POSSIBLE {
            return Ok(Census(HashSet::new()));
        }
        let threads = fs::read_dir(TASKS)?.map(|entry| entry.map(|entry| entry.file_name()));
        threads.collect::<io::Result<_>>().map(Census)
    }

    /// How many threads there are now that this census doesn't have.
    pub(crate) fn newcomers(&self) -> io::Result<usize> {
        Self::take().map(|now| self.missing(&now))
    }

    /// The numbers of the threads that there are now and that this census doesn't have, in ascending order.
    #[cfg(target_os = "linux")]
    pub(crate) fn started_since(&self) -> io::Result<Vec<OsString>> {
        let now = Self::take()?;
        let mut new: Vec<_> = now.0.difference(&self.0).cloned().collect();
        // Shorter numbers are smaller.
        new.sort_by_key(|name| (name.len(), name.clone()));
        Ok(new)
    }

    /// How many threads of `now` are not in this one. This is no difference of sizes, as threads of
    /// this census may have ended in the meantime: a pool need not join its threads.
    fn missing(&self, now: &Self) -> usize {
        now.0.difference(&self.0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::Census;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn a_thread_that_has_ended_does_not_make_up_for_a_new_one() {
        let census = |threads: [&str; 3]| Census(threads.map(Into::into).into());
        assert_eq!(census(["1", "2", "3"]).missing(&census(["1", "3", "4"])), 1);
        assert_eq!(census(["1", "2", "3"]).missing(&census(["3", "2", "1"])), 0);
    }

    #[test]
    fn threads_that_were_started_are_newcomers_where_they_can_be_counted() {
        let (census, barrier) = (Census::take().expect("threads"), Barrier::new(4));
        thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(|| barrier.wait())));
            let newcomers = census.newcomers().expect("threads");
            // A test that fails must not leave them waiting.
            barrier.wait();
            // Other tests of this process may start some too.
            assert!(newcomers >= 3 * usize::from(Census::POSSIBLE), "{newcomers}");
        });
    }
}
